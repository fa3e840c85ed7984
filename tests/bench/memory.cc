// Measures the memory of a real musterd: for each member at rest, with its own connection and with
// one that all share; the peak during large all-gathers; and what is left when the members have
// gone.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/server/service/test_member.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process_usage.h"

namespace muster::testing {
namespace {

constexpr absl::Duration kRest = absl::Seconds(6);

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "memory: %s\n", what.c_str());
  std::exit(1);
}

void Check(const absl::Status& status) {
  if (!status.ok()) Die(status.ToString());
}

double Mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

class Run {
 public:
  explicit Run(const std::map<std::string, std::string>& env)
      : daemon_(TestDaemon::Start({"--member-grace=1s"}, env)) {
    if (daemon_ == nullptr) Die("musterd did not start");
    // The first call has costs of its own, so make it before the measurement.
    Check(GetStatus(v1::CoordinatorService::NewStub(Connect(daemon_->address())).get()).status());
    before_ = Resident();
  }

  // Adds members that have joined.
  void AddMembers(int count, bool one_connection) {
    const auto shared = one_connection ? Connect(daemon_->address()) : nullptr;
    for (int i = 0; i < count; ++i) {
      members_.push_back(std::make_unique<TestMember>(
          one_connection ? shared : Connect(daemon_->address()), TestMember::Options()));
      Check(members_.back()->Attach());
    }
    All([count](TestMember& m) { return m.Join(count).status(); });
    All([](TestMember& m) { return m.Barrier(); });
  }

  void AllGather(size_t bytes) {
    All([bytes](TestMember& m) { return m.AllGather(std::string(bytes, 'x')).status(); });
  }

  // Returns the least memory over some idle seconds.
  int64_t AtRest() const {
    const absl::Time deadline = absl::Now() + kRest;
    int64_t least = Resident();
    while (absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(100));
      least = std::min(least, Resident());
    }
    return least;
  }

  // Has all members leave.
  void End() {
    All([](TestMember& m) { return m.Leave(); });
    members_.clear();
  }

  pid_t pid() const { return daemon_->process().pid(); }
  int64_t Resident() const { return MemoryOf(pid()).resident; }
  int64_t before() const { return before_; }

 private:
  template <typename F>
  void All(F f) {
    std::vector<std::future<absl::Status>> calls;
    for (auto& member : members_) {
      calls.push_back(std::async(std::launch::async, [&f, &member] { return f(*member); }));
    }
    for (auto& call : calls) Check(call.get());
  }

  const std::unique_ptr<TestDaemon> daemon_;
  int64_t before_ = 0;
  std::vector<std::unique_ptr<TestMember>> members_;
};

void MeasureRest(const std::map<std::string, std::string>& env, int members, bool one_connection) {
  Run run(env);
  run.AddMembers(members, one_connection);
  const int64_t with_them = run.AtRest();
  const double kilobytes = static_cast<double>(with_them - run.before()) / 1000 / members;
  run.End();
  std::printf("| %d, %s | %.1f | %.1f | %.1f | %.1f |\n", members,
              one_connection ? "one connection" : "a connection each", kilobytes,
              Mebibytes(run.before()), Mebibytes(with_them), Mebibytes(run.AtRest()));
  std::fflush(stdout);
}

void MeasureGather(const std::map<std::string, std::string>& env, int members, size_t bytes,
                   int rounds) {
  Run run(env);
  run.AddMembers(members, /*one_connection=*/false);
  const ProcessorTime before = ProcessorTimeOf(run.pid());
  for (int round = 0; round < rounds; ++round) run.AllGather(bytes);
  const ProcessorTime after = ProcessorTimeOf(run.pid());
  const absl::Duration used = after.user - before.user + after.system - before.system;
  const int64_t peak = MemoryOf(run.pid()).peak;
  const int64_t then = run.AtRest();
  run.End();
  std::printf("| %d x %.0f MiB, %d times | %.0f | %.0f | %.0f | %ld |\n", members,
              Mebibytes(static_cast<int64_t>(bytes)), rounds, Mebibytes(peak), Mebibytes(then),
              Mebibytes(run.AtRest()), static_cast<long>(absl::ToInt64Milliseconds(used)));
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  CLI::App app("Measures a real musterd's memory.");
  int members = 1000;
  int rounds = 3;
  std::vector<std::string> variables;
  app.add_option("--members", members, "Members at rest");
  app.add_option("--rounds", rounds, "All-gathers, one after the other");
  app.add_option("--env", variables, "NAME=VALUE for musterd, such as LD_PRELOAD=...");
  CLI11_PARSE(app, argc, argv);
  std::map<std::string, std::string> env;
  for (const std::string& v : variables) env.insert(absl::StrSplit(v, absl::MaxSplits('=', 1)));
  std::printf("| members at rest | KB each | MiB before | with them | when all have left |\n");
  MeasureRest(env, members, /*one_connection=*/false);
  MeasureRest(env, members, /*one_connection=*/true);
  std::printf(
      "| all-gathers | peak MiB | at rest, after the last | when all have left | CPU ms |\n");
  MeasureGather(env, 8, 16 << 20, rounds);
  MeasureGather(env, 32, 2 << 20, rounds);
  return 0;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) { return muster::testing::Main(argc, argv); }
