#include "tests/bench/recovering/recovery_job.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

constexpr int kTimeoutMs = 300000;

}  // namespace

void EndBenchmark(const std::string& why) {
  std::fprintf(stderr, "recovery: %s\n", why.c_str());
  std::exit(1);
}

Reports::Reports() : path_(absl::StrCat(MakeTempDir(), "/reports")) {
  if (mkfifo(path_.c_str(), 0600) != 0) EndBenchmark("cannot make a pipe");
  fd_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
}

Reports::~Reports() { close(fd_); }

Report Reports::Next() {
  pollfd ready = {fd_, POLLIN, 0};
  Report report;
  if (poll(&ready, 1, kTimeoutMs) != 1) EndBenchmark("a member is silent");
  if (read(fd_, &report, sizeof(report)) != sizeof(report)) EndBenchmark("a report is cut off");
  return report;
}

std::vector<Report> Reports::Await(Report::Kind kind, int count) {
  std::vector<Report> reports;
  while (static_cast<int>(reports.size()) < count) {
    const Report report = Next();
    if (report.kind == kind) reports.push_back(report);
  }
  return reports;
}

int64_t Reports::LastOf(Report::Kind kind, int count) {
  int64_t last = 0;
  for (const Report& report : Await(kind, count)) last = std::max(last, report.nanos);
  return last;
}

BenchJob::BenchJob(const Options& options) {
  std::vector<std::string> flags = {absl::StrCat("--world-size=", options.members),
                                    absl::StrCat("--member-grace=", absl::FormatDuration(kGrace)),
                                    "--log-level=error"};
  flags.insert(flags.end(), options.daemon_flags.begin(), options.daemon_flags.end());
  daemon_ = TestDaemon::Start(flags);
  if (daemon_ == nullptr) EndBenchmark("musterd did not start");
  StartMembers(options);
  for (const Report& report : reports_.Await(Report::kReady, options.members)) {
    if (report.rank == options.members / 2) victim_ = static_cast<pid_t>(report.pid);
  }
}

void BenchJob::StartMembers(const Options& options) {
  std::vector<std::string> member = options.command;
  member.push_back(reports_.path());
  if (options.launcher) {
    std::vector<std::string> command = {Runfile("client/cli/muster"),
                                        "run",
                                        "--coordinator",
                                        daemon_->address(),
                                        "--nproc-per-node",
                                        absl::StrCat(options.members),
                                        "--"};
    command.insert(command.end(), member.begin(), member.end());
    processes_.push_back(Process::Start(command, options.env));
    return;
  }
  std::map<std::string, std::string> env = options.env;
  env["MUSTER_COORDINATOR"] = daemon_->address();
  for (int i = 0; i < options.members; ++i) processes_.push_back(Process::Start(member, env));
}

int64_t BenchJob::Kill() {
  const int64_t now = MonotonicNanos();
  kill(victim_, SIGKILL);
  return now;
}

}  // namespace muster::testing
