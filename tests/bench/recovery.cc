// Measures how long failures take: from SIGKILL of a rank to the last survivor's error, with and
// without the launcher; from there to the next epoch of an elastic job; and from the restart of
// musterd to the first completed barrier. Members are processes. The floor of the first figure is a
// bare kill, waitpid and one gRPC event to as many processes.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
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
#include "tests/bench/recovering/recovery_job.h"
#include "tests/util/job/status_reader.h"
#include "tests/util/process/process.h"

namespace muster::testing {
namespace {

const absl::Duration kSettle = absl::Seconds(1);

double Millis(int64_t nanos) { return static_cast<double>(nanos) / 1e6; }

std::string MemberPath() { return Runfile("tests/bench/recovering/recovery_member"); }

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

// A service that sends each caller one event at once, and another one at SendToAll().
class BareService final : public v1::CoordinatorService::CallbackService {
 public:
  grpc::ServerWriteReactor<v1::AttachResponse>* Attach(grpc::CallbackServerContext*,
                                                       const v1::AttachRequest*) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.push_back(new EventStream());
    return streams_.back();
  }

  void SendToAll() {
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
  service.SendToAll();
  const double millis = Millis(reports.LastOf(Report::kLost, members) - begin);
  processes.clear();
  server->Shutdown(std::chrono::system_clock::now());
  return millis;
}

// ---- Measurements ----

BenchJob::Options Members(int members, const std::string& mode) {
  BenchJob::Options options;
  options.members = members;
  options.command = {MemberPath(), mode};
  return options;
}

// Kills a member once all others wait in the barrier. Returns the time.
int64_t KillBeforeBarrier(BenchJob& job, int members) {
  StatusReader(job.daemon().address()).WaitForParked(members - 1);
  return job.Kill();
}

double MeasureLoss(int members, bool launcher) {
  BenchJob::Options options = Members(members, "stuck");
  options.launcher = launcher;
  BenchJob job(options);
  const int64_t begin = KillBeforeBarrier(job, members);
  const double millis = Millis(job.reports().LastOf(Report::kLost, members - 1) - begin);
  return launcher ? millis : millis - absl::ToDoubleMilliseconds(BenchJob::kGrace);
}

double MeasureReform(int members) {
  BenchJob::Options options = Members(members, "reform");
  options.daemon_flags = {absl::StrCat("--min-world-size=", members - 1),
                          absl::StrCat("--settle=", absl::FormatDuration(kSettle))};
  BenchJob job(options);
  const int64_t begin = KillBeforeBarrier(job, members);
  return Millis(job.reports().LastOf(Report::kReformed, members - 1) - begin) -
         absl::ToDoubleMilliseconds(kSettle);
}

// Measures from the start of the new process. Its members have missed the old one for a while.
double MeasureRestart(int members) {
  BenchJob job(Members(members, "barriers"));
  job.reports().Await(Report::kBarrier, 3);
  job.daemon().Kill();
  const int64_t begin = MonotonicNanos();
  job.daemon().Restart();
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
