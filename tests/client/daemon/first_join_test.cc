// Tests of a process whose first Job::Join() gets too few threads. gRPC then has none of its own
// yet, and must do without some of them too.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "muster/job.h"
#include "tests/client/daemon/jobs.h"
#include "tests/util/process/process.h"
#include "tests/util/process/thread_limit.h"

namespace muster::testing {
namespace {

constexpr Exit kJoined = {false, 0};
constexpr Exit kRefused = {false, 1};

// Joins a job of one rank, and ends the process.
[[noreturn]] void JoinAndExit(const std::string& coordinator) {
  JobOptions options = OptionsFor(coordinator);
  options.world_size = 1;
  options.rank = 0;
  const absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(options);
  const absl::Status status = job.ok() ? (*job)->Barrier() : job.status();
  if (status.ok()) _exit(kJoined.code);
  const bool refused = absl::IsResourceExhausted(status) &&
                       absl::StrContains(status.message(), "gives this process no thread to") &&
                       absl::StrContains(status.message(), "ulimit -u");
  if (!refused) std::cerr << status << std::endl;
  _exit(refused ? kRefused.code : 2);
}

// Joins in a fork of this process that may have `threads` more threads.
Exit Join(const std::string& coordinator, int threads) {
  const pid_t child = fork();
  if (child == 0) {
    const ThreadLimit limit(threads, ThreadLimit::Of::kAllThreads);
    JoinAndExit(coordinator);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) return {true, WTERMSIG(status)};
  return {false, WEXITSTATUS(status)};
}

// This process never uses gRPC, so each of its forks does so for the first time.
TEST(FirstJoinTest, WithTooFewThreadsIsRefusedWithTheReason) {
  constexpr int kPlenty = 100;
  const auto daemon = TestDaemon::Start();
  const std::string coordinator = absl::StrCat("localhost:", daemon->port());  // to be resolved
  EXPECT_EQ(Join(coordinator, 0), kRefused);
  int threads = 1;
  Exit exit = Join(coordinator, threads);
  while (exit == kRefused && threads < kPlenty) exit = Join(coordinator, ++threads);
  EXPECT_EQ(exit, kJoined) << "with " << threads << " threads";
}

}  // namespace
}  // namespace muster::testing
