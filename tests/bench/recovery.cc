// How long failures take: from SIGKILL of a rank to the last survivor's error, with and without the
// launcher; from there to the next epoch of an elastic job; from the restart of musterd to the
// first completed barrier. Members are processes. The floor under the first figure is a bare kill,
// waitpid and one gRPC event to as many processes.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "grpcpp/server_builder.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "tests/bench/recovery_member.h"
#include "tests/util/daemon.h"
#include "tests/util/process.h"
#include "tests/util/status_reader.h"

namespace muster::testing {
namespace {

constexpr int kPatienceMs = 300000;
const absl::Duration kGrace = absl::Milliseconds(500);  // of jobs without a launcher
const absl::Duration kSettle = absl::Seconds(1);

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "recovery: %s\n", what.c_str());
  std::exit(1);
}

double Millis(int64_t nanos) { return static_cast<double>(nanos) / 1e6; }

// The pipe that the members report to.
class Reports {
 public:
  Reports() : path_(absl::StrCat(MakeTempDir(), "/reports")) {
    if (mkfifo(path_.c_str(), 0600) != 0) Die("cannot make a pipe");
    fd_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  }
  ~Reports() { close(fd_); }

  const std::string& path() const { return path_; }

  Report Next() {
    pollfd ready = {fd_, POLLIN, 0};
    Report report;
    if (poll(&ready, 1, kPatienceMs) != 1) Die("a member is silent");
    if (read(fd_, &report, sizeof(report)) != sizeof(report)) Die("a report is cut off");
    return report;
  }

  // The next `count` reports of a kind.
  std::vector<Report> Await(Report::Kind kind, int count) {
    std::vector<Report> reports;
    while (static_cast<int>(reports.size()) < count) {
      const Report report = Next();
      if (report.kind == kind) reports.push_back(report);
    }
    return reports;
  }

  // When the last of the next `count` came.
  int64_t LastOf(Report::Kind kind, int count) {
    int64_t last = 0;
    for (const Report& report : Await(kind, count)) last = std::max(last, report.nanos);
    return last;
  }

 private:
  const std::string path_;
  int fd_ = -1;
};

std::string MemberPath() { return Runfile("tests/bench/recovery_member"); }

// A job of `members` processes, which have joined.
class BenchJob {
 public:
  BenchJob(int members, const std::string& mode, bool launcher,
           const std::vector<std::string>& daemon_flags)
      : members_(members) {
    std::vector<std::string> flags = {absl::StrCat("--world-size=", members),
                                      absl::StrCat("--member-grace=", absl::FormatDuration(kGrace)),
                                      "--log-level=error"};
    flags.insert(flags.end(), daemon_flags.begin(), daemon_flags.end());
    daemon_ = TestDaemon::Start(flags);
    if (daemon_ == nullptr) Die("musterd did not start");
    StartMembers(mode, launcher);
    for (const Report& report : reports_.Await(Report::kReady, members)) {
      if (report.rank == members / 2) victim_ = static_cast<pid_t>(report.pid);
    }
  }

  Reports& reports() { return reports_; }
  TestDaemon& daemon() { return *daemon_; }

  // Waits until all but the last one are in the barrier. Then kills one of them, and returns when.
  int64_t Kill() {
    StatusReader(daemon_->address()).WaitForParked(members_ - 1);
    const int64_t now = MonotonicNanos();
    kill(victim_, SIGKILL);
    return now;
  }

 private:
  void StartMembers(const std::string& mode, bool launcher) {
    const std::vector<std::string> member = {MemberPath(), mode, reports_.path()};
    if (launcher) {
      std::vector<std::string> command = {Runfile("client/cli/muster"),
                                          "run",
                                          "--coordinator",
                                          daemon_->address(),
                                          "--nproc-per-node",
                                          absl::StrCat(members_),
                                          "--"};
      command.insert(command.end(), member.begin(), member.end());
      processes_.push_back(Process::Start(command));
      return;
    }
    for (int i = 0; i < members_; ++i) {
      processes_.push_back(Process::Start(member, {{"MUSTER_COORDINATOR", daemon_->address()}}));
    }
  }

  const int members_;
  Reports reports_;
  std::unique_ptr<TestDaemon> daemon_;
  std::vector<std::unique_ptr<Process>> processes_;
  pid_t victim_ = 0;
};

// ---- The floor ----

class EventStream final : public grpc::ServerWriteReactor<v1::AttachResponse> {
 public:
  EventStream() { StartWrite(&event_); }
  void OnWriteDone(bool) override {}
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }
  void Send() { StartWrite(&event_); }

 private:
  v1::AttachResponse event_;
};

// Sends each caller one event at once, and one at Broadcast().
class BareService final : public v1::CoordinatorService::CallbackService {
 public:
  grpc::ServerWriteReactor<v1::AttachResponse>* Attach(grpc::CallbackServerContext*,
                                                       const v1::AttachRequest*) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.push_back(new EventStream());
    return streams_.back();
  }

  void Broadcast() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (EventStream* stream : streams_) stream->Send();
  }

 private:
  std::mutex mutex_;
  std::vector<EventStream*> streams_;
};

double MeasureFloor(int members) {
  BareService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  Reports reports;
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < members; ++i) {
    processes.push_back(
        Process::Start({MemberPath(), "bare", absl::StrCat("127.0.0.1:", port), reports.path()}));
  }
  reports.Await(Report::kReady, members);
  const auto victim = Process::Start({"sleep", "1000"});
  const int64_t begin = MonotonicNanos();
  kill(victim->pid(), SIGKILL);
  siginfo_t ended;
  waitid(P_PID, victim->pid(), &ended, WEXITED | WNOWAIT);
  service.Broadcast();
  const double millis = Millis(reports.LastOf(Report::kLost, members) - begin);
  processes.clear();
  server->Shutdown(std::chrono::system_clock::now());
  return millis;
}

// ---- What is measured ----

double MeasureLoss(int members, bool launcher) {
  BenchJob job(members, "stuck", launcher, {});
  const int64_t begin = job.Kill();
  const double millis = Millis(job.reports().LastOf(Report::kLost, members - 1) - begin);
  return launcher ? millis : millis - absl::ToDoubleMilliseconds(kGrace);
}

double MeasureReform(int members) {
  BenchJob job(members, "reform", /*launcher=*/true,
               {absl::StrCat("--min-world-size=", members - 1),
                absl::StrCat("--settle=", absl::FormatDuration(kSettle))});
  const int64_t begin = job.Kill();
  return Millis(job.reports().LastOf(Report::kReformed, members - 1) - begin) -
         absl::ToDoubleMilliseconds(kSettle);
}

// From the start of the new process, which its members have been missing for a while.
double MeasureRestart(int members) {
  BenchJob job(members, "barriers", /*launcher=*/true, {});
  job.reports().Await(Report::kBarrier, 3);
  job.daemon().Kill();
  const int64_t begin = MonotonicNanos();
  job.daemon().StartAgain();
  while (true) {
    const Report report = job.reports().Await(Report::kBarrier, 1).front();
    if (report.nanos > begin) return Millis(report.nanos - begin);
  }
}

void PrintRow(int members, const char* what, int rounds, const std::function<double()>& measure) {
  std::vector<double> millis;
  for (int round = 0; round < rounds; ++round) millis.push_back(measure());
  std::sort(millis.begin(), millis.end());
  std::printf("%7d  %-46s %9.1f   %.1f to %.1f\n", members, what, millis[millis.size() / 2],
              millis.front(), millis.back());
  std::fflush(stdout);
}

void Measure(int members, int rounds) {
  PrintRow(members, "floor: kill, waitpid, one gRPC event to each", rounds,
           [&] { return MeasureFloor(members); });
  PrintRow(members, "loss, with the launcher", rounds, [&] { return MeasureLoss(members, true); });
  PrintRow(members, "loss, without: over the grace", rounds,
           [&] { return MeasureLoss(members, false); });
  PrintRow(members, "loss to the next epoch: over the settle time", rounds,
           [&] { return MeasureReform(members); });
  PrintRow(members, "restart of musterd to a completed barrier", rounds,
           [&] { return MeasureRestart(members); });
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  std::vector<int> members = {8, 64, 256};
  int rounds = 11;
  CLI::App app("How long failures take, beside a bare kill and gRPC event.", "recovery");
  app.add_option("--members", members, "Numbers of members to measure")
      ->capture_default_str()
      ->check(CLI::Range(3, 1024));
  app.add_option("--rounds", rounds, "Rounds of each; each starts its members anew")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  std::printf("milliseconds, median of %d rounds\n", rounds);
  std::printf("members  %-46s %9s   fastest to slowest\n", "", "median");
  for (const int count : members) muster::testing::Measure(count, rounds);
}
