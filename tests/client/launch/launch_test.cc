// Tests of muster::Launch and Spawn, whose ranks are forks of this process.
#include "muster/launch.h"

#include <glob.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "client/src/base/error_note.h"
#include "muster/exit_code.h"
#include "muster/job.h"
#include "muster/toolkits.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process.h"
#include "tests/util/process/wait_until.h"

namespace muster {
namespace {

using toolkits::CurrentJob;
using toolkits::Finalize;
using toolkits::Initialize;

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

LaunchOptions Slots(int count) {
  LaunchOptions options;
  options.nproc_per_node = count;
  return options;
}

LaunchResult Result(const absl::StatusOr<LaunchResult>& result) {
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : LaunchResult();
}

std::string Text(const absl::Status& status) { return std::string(status.message()); }

absl::StatusOr<std::unique_ptr<Job>> Join() { return Job::Join(JobOptions::FromEnvironment()); }

// Joins, and checks the places of this rank and its companions.
absl::Status GatherAll(int size) {
  const auto job = Join();
  if (!job.ok()) return job.status();
  const auto ranks = (*job)->AllGather((*job)->rank());
  if (!ranks.ok()) return ranks.status();
  for (int rank = 0; rank < size; ++rank) {
    if ((*ranks)[rank] != rank) return absl::DataLossError("wrong ranks");
  }
  const std::string rank = absl::StrCat((*job)->rank());
  if (ranks->size() != static_cast<size_t>(size) || (*job)->local_world_size() != size ||
      getenv("RANK") != rank || getenv("LOCAL_RANK") != rank) {
    return absl::DataLossError("wrong place");
  }
  return (*job)->Leave();
}

TEST(LaunchTest, TheProcessesFormAJob) {
  for (const int size : {1, 2, 4}) {
    const LaunchResult result = Result(Launch(Slots(size), GatherAll, size));
    EXPECT_TRUE(result.status().ok()) << result.status();
    ASSERT_THAT(result.processes, SizeIs(size));
    for (int rank = 0; rank < size; ++rank) {
      EXPECT_EQ(result.processes[rank].rank, rank);
      EXPECT_EQ(result.processes[rank].local_rank, rank);
      EXPECT_EQ(result.processes[rank].exit_status, 0);
    }
  }
}

// Joins with the token, which only processes of this launch find. Without it, joining must fail.
absl::Status GatherWithToken(const std::string& token_path) {
  absl::StatusOr<JobOptions> options = JobOptions::FromEnvironment();
  if (!options.ok()) return options.status();
  std::ofstream(token_path) << options->token_file;
  JobOptions stranger = *options;
  stranger.token_file = "";
  const absl::Status refused = Job::Join(stranger).status();
  if (!absl::IsUnauthenticated(refused)) return absl::DataLossError(refused.ToString());
  return GatherAll(1);
}

TEST(LaunchTest, TheCoordinatorRequiresATokenDeletedAfterTheRun) {
  const std::string token_path = absl::StrCat(testing::MakeTempDir(), "/token_path");
  const LaunchResult result = Result(Launch(Slots(1), GatherWithToken, token_path));
  EXPECT_TRUE(result.status().ok()) << result.status();
  std::string token_file;
  std::ifstream(token_path) >> token_file;
  EXPECT_THAT(token_file, HasSubstr("/muster-run-"));
  EXPECT_FALSE(std::ifstream(token_file).is_open());
}

TEST(LaunchTest, SpawnPassesTheLocalRankFirst) {
  const auto check = [](int local_rank, const std::string& text, double number) {
    const bool right =
        getenv("LOCAL_RANK") == absl::StrCat(local_rank) && text == "a" && number == 2;
    return right ? absl::OkStatus() : absl::DataLossError("wrong arguments");
  };
  for (const int size : {1, 2, 4}) {
    const LaunchResult result = Result(Spawn(Slots(size), check, std::string("a"), 2.0));
    EXPECT_TRUE(result.status().ok()) << result.status();
    EXPECT_THAT(result.processes, SizeIs(size));
  }
}

TEST(LaunchTest, FunctionsMayReturnNothingOrAValue) {
  EXPECT_TRUE(Result(Launch(Slots(1), [] {})).status().ok());
  const auto valued = [](int value) -> absl::StatusOr<int> { return value; };
  EXPECT_TRUE(Result(Launch(Slots(1), valued, 3)).status().ok());
  EXPECT_FALSE(getenv("MUSTER_RANK")) << "the program's own environment has changed";
}

TEST(LaunchTest, TheHookComesFirstAndItsErrorCounts) {
  LaunchOptions options = Slots(2);
  options.before = [] {
    setenv("HOOK", "ran", 1);
    return absl::OkStatus();
  };
  const auto check = [] {
    return getenv("HOOK") == std::string("ran") ? absl::OkStatus() : absl::InternalError("?");
  };
  EXPECT_TRUE(Result(Launch(options, check)).status().ok());
  options.before = [] { return absl::NotFoundError("no such backend"); };
  const LaunchResult failed = Result(Launch(options, check));
  EXPECT_EQ(failed.processes[1].status, absl::NotFoundError("no such backend"));
}

TEST(LaunchTest, TheHookMayJoinTheJobForTheFunction) {
  const auto check = [](int local_rank, int size) {
    const Job& job = CurrentJob();
    const bool right = job.rank() == local_rank && job.world_size() == size;
    return right ? Finalize() : absl::DataLossError("wrong place");
  };
  for (const int size : {1, 2, 4}) {
    LaunchOptions options = Slots(size);
    options.before = [] { return Initialize(); };
    const LaunchResult result = Result(Spawn(options, check, size));
    EXPECT_TRUE(result.status().ok()) << result.status();
  }
}

TEST(LaunchTest, EveryErrorIsReturned) {
  const auto fail = [](int local_rank) {
    if (local_rank == 1) return absl::ResourceExhaustedError("out of luck");
    return absl::OkStatus();
  };
  const LaunchResult result = Result(Spawn(Slots(3), fail));
  EXPECT_EQ(result.first_failed_rank, 1);
  EXPECT_EQ(result.processes[1].status, absl::ResourceExhaustedError("out of luck"));
  EXPECT_EQ(result.processes[1].exit_status, 1);
  EXPECT_TRUE(result.processes[0].status.ok());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(result.status()),
              AllOf(HasSubstr("1 of 3 processes failed: rank 1 (pid "), HasSubstr("out of luck")));
}

// Rank 1 cannot use its GPU. The other ranks end because of that, or are ended.
TEST(LaunchTest, TheExitCodeIsThatOfTheGuiltyProcess) {
  const auto fail = [](int local_rank) {
    if (local_rank == 0) return absl::AbortedError("rank 1 was lost");
    return internal::WithExitCode(absl::FailedPreconditionError("no usable GPU"),
                                  kExitUnhealthyNode);
  };
  const LaunchResult result = Result(Spawn(Slots(2), fail));
  EXPECT_EQ(result.processes[0].exit_status, kExitPeerLost);
  EXPECT_EQ(result.processes[1].exit_status, kExitUnhealthyNode);
  EXPECT_EQ(ExitCode(result.processes[1].status), kExitUnhealthyNode);
  EXPECT_EQ(ExitCode(result.status()), kExitUnhealthyNode);
}

TEST(LaunchTest, WithoutAGuiltyProcessTheExitCodeIsPeerLost) {
  const auto fail = [] { return absl::AbortedError("rank 7 was lost"); };
  EXPECT_EQ(ExitCode(Result(Launch(Slots(2), fail)).status()), kExitPeerLost);
  const auto killed = [] { raise(SIGKILL); };
  EXPECT_EQ(ExitCode(Result(Launch(Slots(1), killed)).status()), 128 + SIGKILL);
}

TEST(LaunchTest, AMachineWithoutRoomForTheProcessesIsUnhealthy) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(STDIN_FILENO);  // the lowest free descriptor
  close(next);
  rlimit few = before;
  few.rlim_cur = next + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const absl::Status status = Launch(Slots(1), [] {}).status();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(Text(status), HasSubstr("'ulimit -n' and 'ulimit -u' show the limits"));
  EXPECT_EQ(ExitCode(status), kExitUnhealthyNode);
}

TEST(LaunchTest, ExceptionsAndExitStatusesAreReported) {
  const auto end = [](int local_rank) {
    if (local_rank == 0) throw std::runtime_error("oh no");
    if (local_rank == 1) throw 7;
    if (local_rank == 2) _exit(23);
    exit(0);
  };
  const LaunchResult result = Result(Spawn(Slots(4), end));
  EXPECT_EQ(result.processes[0].status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Text(result.processes[0].status), HasSubstr("threw: oh no"));
  EXPECT_THAT(Text(result.processes[1].status), HasSubstr("threw something"));
  EXPECT_EQ(result.processes[2].exit_status, 23);
  EXPECT_THAT(Text(result.processes[2].status), HasSubstr("exited with status 23"));
  EXPECT_TRUE(result.processes[3].status.ok());
}

TEST(LaunchTest, TheOtherProcessesNameTheKilledRank) {
  LaunchOptions options = Slots(3);
  options.failure_wait = absl::Minutes(1);  // so that all ranks can report it
  const auto run = [](int local_rank) -> absl::Status {
    const auto job = Join();
    if (!job.ok()) return job.status();
    if (local_rank == 1) raise(SIGKILL);
    return (*job)->Barrier("never");
  };
  const LaunchResult result = Result(Spawn(options, run));
  EXPECT_EQ(result.first_failed_rank, 1);
  EXPECT_EQ(result.processes[1].signal, SIGKILL);
  EXPECT_EQ(result.processes[1].exit_status, -1);
  for (const int other : {0, 2}) {
    EXPECT_EQ(result.processes[other].status.code(), absl::StatusCode::kAborted);
    EXPECT_THAT(Text(result.processes[other].status),
                AllOf(HasSubstr("rank 1"), HasSubstr(absl::StrCat(result.processes[1].pid))));
    EXPECT_FALSE(result.processes[other].was_ended);
  }
  EXPECT_THAT(Text(result.status()),
              AllOf(HasSubstr("3 of 3 processes failed: rank 1 (pid "), HasSubstr("SIGKILL")));
}

TEST(LaunchTest, AKilledRankIsReportedAtOnceWithItsSignal) {
  LaunchOptions options = Slots(2);
  options.musterd_flags = {"--member-grace=1h"};
  options.failure_wait = absl::Minutes(1);
  const auto run = [](int local_rank) -> absl::Status {
    const auto job = Join();
    if (!job.ok()) return job.status();
    if (local_rank == 1) raise(SIGKILL);
    return (*job)->Barrier("never");
  };
  const LaunchResult result = Result(Spawn(options, run));
  EXPECT_EQ(result.processes[0].status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Text(result.processes[0].status),
              AllOf(HasSubstr("rank 1"), HasSubstr("killed by signal 9 (SIGKILL)")));
}

// Returns the pid of the musterd that is a sibling of this process.
pid_t CoordinatorPid() {
  const std::string siblings = absl::StrCat("/proc/", getppid(), "/task/", getppid(), "/children");
  std::ifstream children(siblings);
  for (pid_t pid = 0; children >> pid;) {
    std::string name;
    std::ifstream(absl::StrCat("/proc/", pid, "/comm")) >> name;
    if (name == "musterd") return pid;
  }
  return -1;
}

TEST(LaunchTest, ADeadCoordinatorIsRestarted) {
  const auto run = [](int local_rank) -> absl::Status {
    const auto job = Join();
    if (!job.ok()) return job.status();
    for (int death = 0; death < 3; ++death) {
      const pid_t coordinator = local_rank == 0 ? CoordinatorPid() : 0;
      if (coordinator < 0) return absl::NotFoundError("no musterd");
      if (coordinator > 0) kill(coordinator, SIGKILL);
      const auto ranks = (*job)->AllGather(local_rank);
      if (!ranks.ok()) return ranks.status();
      if (*ranks != std::vector<int>{0, 1}) return absl::DataLossError("wrong ranks");
    }
    return (*job)->Leave();
  };
  const LaunchResult result = Result(Spawn(Slots(2), run));
  EXPECT_TRUE(result.status().ok()) << result.status();
}

std::vector<std::string> Matches(const std::string& pattern) {
  glob_t found = {};
  glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

TEST(LaunchTest, SurvivorsOfAFailureAreEnded) {
  LaunchOptions options = Slots(3);
  options.failure_wait = absl::Milliseconds(10);
  options.grace = absl::Milliseconds(100);
  const std::string deaf = testing::MakeTempDir() + "/deaf";
  const auto run = [](int local_rank, const std::string& deaf) {
    if (local_rank == 0) {
      testing::WaitUntil([&] { return !Matches(deaf).empty(); });
      return absl::InternalError("first");
    }
    if (local_rank == 1) {
      signal(SIGTERM, SIG_IGN);
      std::ofstream(deaf).close();
    }
    while (true) pause();
  };
  const LaunchResult result = Result(Spawn(options, run, deaf));
  EXPECT_EQ(result.first_failed_rank, 0);
  EXPECT_EQ(result.processes[1].signal, SIGKILL);
  EXPECT_THAT(result.processes[2].signal, ::testing::AnyOf(SIGTERM, SIGKILL));
  EXPECT_TRUE(result.processes[1].was_ended && result.processes[2].was_ended);
  EXPECT_THAT(Text(result.status()), HasSubstr("processes failed: rank 0 "));
}

// Returns the verdicts on the barrier. On a slow start there may be earlier ones on other calls.
std::vector<std::string> VerdictsOnTheBarrier(const std::string& folder) {
  std::vector<std::string> verdicts;
  for (const std::string& path : Matches(folder + "/hang-*/verdict.txt")) {
    std::string verdict = testing::ReadFile(path);
    if (absl::StrContains(verdict, "Barrier('late')")) verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

// Rank 1 arrives only when a verdict has been written. Until then it is in no call of the job.
absl::Status WaitInBarrier(const std::string& folder) {
  const auto job = Join();
  if (!job.ok()) return job.status();
  const auto is_written = [&] { return !VerdictsOnTheBarrier(folder).empty(); };
  if ((*job)->rank() == 1) testing::WaitUntil(is_written, absl::Minutes(5));
  if (absl::Status met = (*job)->Barrier("late"); !met.ok()) return met;
  return (*job)->Leave();
}

TEST(LaunchTest, AHangIsWrittenToTheDebugDir) {
  const std::string folder = testing::MakeTempDir() + "/new";
  LaunchOptions options = Slots(2);
  options.debug_dir = folder;
  options.musterd_flags = {"--stall-warning=300ms"};
  const LaunchResult result = Result(Launch(options, WaitInBarrier, folder));
  EXPECT_TRUE(result.status().ok()) << result.status();
  EXPECT_THAT(VerdictsOnTheBarrier(folder), Each(::testing::StartsWith("rank 1 (host ")));
  EXPECT_THAT(Matches(folder + "/hang-*/nodes/*/rank-[01]/threads.txt"), SizeIs(::testing::Ge(2)));
}

TEST(LaunchTest, RunningThreadsAreRejected) {
  absl::Notification done;
  std::thread thread([&] { done.WaitForNotification(); });
  const absl::Status status = Launch(Slots(1), [] {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(status),
              AllOf(HasSubstr("it has 2 threads ("), HasSubstr("at the start of main")));
  done.Notify();
  thread.join();
}

TEST(LaunchTest, AnOpenJobIsRejected) {
  auto daemon = testing::TestDaemon::Start({"--world-size", "1"});
  const auto launch_beside_a_job = [&]() -> absl::Status {
    JobOptions options;
    options.coordinator = daemon->address();
    const auto job = Job::Join(options);
    if (!job.ok()) return job.status();
    return Launch(Slots(1), [] {}).status();
  };
  // Runs in a fork, because gRPC's threads may outlive the job.
  const LaunchResult result = Result(Launch(Slots(1), launch_beside_a_job));
  EXPECT_EQ(result.processes[0].status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(result.processes[0].status), HasSubstr("cannot fork this process"));
}

TEST(LaunchTest, OptionsAreChecked) {
  const auto refusal = [](const LaunchOptions& options) {
    const absl::Status status = Launch(options, [] {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return Text(status);
  };
  EXPECT_THAT(refusal(Slots(-1)), HasSubstr("LaunchOptions::nproc_per_node is -1"));
  LaunchOptions options = Slots(1);
  options.nnodes = 2;
  EXPECT_THAT(refusal(options), HasSubstr("LaunchOptions::coordinator is empty"));
  options.coordinator = "nowhere";
  EXPECT_THAT(refusal(options), HasSubstr("host:port"));
  options.node_rank = 2;
  EXPECT_THAT(refusal(options), HasSubstr("LaunchOptions::node_rank is 2; expected 0 to 1"));
  options = Slots(1);
  options.debug_dir = "/proc/hangs";
  EXPECT_THAT(refusal(options), HasSubstr("LaunchOptions::debug_dir is not usable: cannot create "
                                          "/proc/hangs: No such file"));
}

TEST(LaunchTest, WithoutACoordinatorNothingRuns) {
  LaunchOptions options = Slots(1);
  options.musterd = "/nowhere/musterd";
  EXPECT_EQ(Launch(options, [] {}).status().code(), absl::StatusCode::kNotFound);
  options.musterd = "/bin/false";
  EXPECT_EQ(Launch(options, [] {}).status().code(), absl::StatusCode::kUnavailable);
  const auto daemon = testing::TestDaemon::Start();
  options.musterd = "";
  options.coordinator = daemon->address();
  const absl::Status taken = Launch(options, [] {}).status();
  EXPECT_EQ(taken.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ExitCode(taken), 1) << "no other rank is to blame";
  EXPECT_THAT(Text(taken), AllOf(HasSubstr("before it listened"), HasSubstr(daemon->address())));
}

}  // namespace
}  // namespace muster
