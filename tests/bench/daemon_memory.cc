// Measures the memory and processor time of a real musterd for as many members as a large job has.
// All members share one connection of this process, which reads answers only where it says so.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "tests/server/service/crowd.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process_usage.h"

namespace muster::testing {
namespace {

void ExitOnError(const char* what, const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "daemon_memory: %s: %s\n", what, status.ToString().c_str());
  std::exit(1);
}

// A daemon, and the members of its job.
struct Job {
  explicit Job(int size)
      : daemon(TestDaemon::Start({"--max-held-bytes=8589934592"})), crowd(daemon->address(), size) {
    ExitOnError("attach", crowd.Attach());
    ExitOnError("join", crowd.Join());
    Start();
  }
  // Starts to measure. The printed figures count from here.
  void Start() {
    const pid_t pid = daemon->process().pid();
    ResetPeak(pid);
    memory = MemoryOf(pid);
    time = ProcessorTimeOf(pid);
  }
  void Print(const std::string& what) {
    const pid_t pid = daemon->process().pid();
    const Memory now = MemoryOf(pid);
    const ProcessorTime spent = ProcessorTimeOf(pid);
    std::printf("| %s | %.1f | %.1f | %.2f | %.2f |\n", what.c_str(), MiB(now.resident),
                MiB(now.peak), absl::ToDoubleSeconds(spent.user - time.user),
                absl::ToDoubleSeconds(spent.system - time.system));
    std::fflush(stdout);
  }
  double MiB(int64_t bytes) const {
    return static_cast<double>(bytes - memory.resident) / (1 << 20);
  }

  std::unique_ptr<TestDaemon> daemon;
  Crowd crowd;
  Memory memory;
  ProcessorTime time;
};

void Reattach(int members) {
  Job job(members);
  job.daemon->Kill();
  job.crowd.Disconnect();
  job.daemon->Restart();
  job.Start();
  ExitOnError("attach again", job.crowd.Attach());
  job.Print(absl::StrCat(members, " members attach again"));
}

std::string Bytes(int64_t bytes) {
  return bytes >= 1 << 20 ? absl::StrCat(bytes >> 20, " MiB") : absl::StrCat(bytes >> 10, " KiB");
}

void AllGather(int members, int64_t bytes) {
  Job job(members);
  const std::string what = absl::StrCat("all-gather of ", members, " x ", Bytes(bytes));
  std::vector<Crowd::AllGatherCall> calls =
      job.crowd.AllGatherOfAll(std::string(static_cast<size_t>(bytes), 'x'));
  job.Print(absl::StrCat(what, ", not read"));
  ExitOnError("read", calls.back()->Read().status());
  job.Print(absl::StrCat(what, ", one rank has read"));
}

int Main(int argc, char** argv) {
  CLI::App app("Memory and processor time of musterd.");
  bool large = false;
  app.add_flag("--large", large, "also all-gathers whose answers have 2 GiB");
  CLI11_PARSE(app, argc, argv);
  std::printf("| | resident, MiB | peak, MiB | user, s | system, s |\n|---|---|---|---|---|\n");
  Reattach(1000);
  AllGather(1000, 1 << 10);
  AllGather(8, 16 << 20);
  AllGather(32, 2 << 20);
  if (large) AllGather(127, 16 << 20);
  return 0;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) { return muster::testing::Main(argc, argv); }
