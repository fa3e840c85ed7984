// The musterd binary: how it starts, serves and ends.
#include "tests/util/job/daemon.h"

#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/server/service/test_job.h"
#include "tests/util/process/process.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr Exit kOk{false, 0};
constexpr Exit kFailed{false, 1};

// Starts a process that joins a job as its only member and then stays silent.
std::unique_ptr<Process> StartMember(TestDaemon& daemon) {
  auto member = Process::Start({Runfile("tests/server/service/member_process"), daemon.address()});
  EXPECT_TRUE(member->WaitForOutput("joined"));
  return member;
}

bool Exists(const std::string& path) { return std::ifstream(path).good(); }

TEST(DaemonTest, ThePortFileHoldsThePortUntilTheEnd) {
  const auto daemon = TestDaemon::Start();
  EXPECT_EQ(ReadFile(daemon->port_file()), absl::StrCat(daemon->port(), "\n"));
  daemon->process().Signal(SIGTERM);
  EXPECT_EQ(daemon->process().Wait(), kOk);
  EXPECT_FALSE(Exists(daemon->port_file()));
}

TEST(DaemonTest, LogsTheJobItServes) {
  const auto daemon = TestDaemon::Start({"--job=train-42", "--world-size=3"});
  daemon->process().WaitForOutput(absl::StrCat("job 'train-42': serving at ", daemon->address(),
                                               ", world size 3, musterd 0.1.0"));
}

TEST(DaemonTest, VariablesAreFlagsAndFlagsWin) {
  const auto daemon = TestDaemon::Start(
      {"--world-size=2"}, {{"MUSTER_JOB", "from-variable"}, {"MUSTER_WORLD_SIZE", "7"}});
  const auto stub = v1::CoordinatorService::NewStub(Connect(daemon->address()));
  const auto status = GetStatus(stub.get());
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(status->job_id(), "from-variable");
  EXPECT_EQ(status->world_size(), 2);
}

TEST(DaemonTest, JsonLogsAreOneObjectPerLine) {
  const auto daemon = TestDaemon::Start({"--log-format=json", "--job=say \"hi\""});
  daemon->process().Signal(SIGTERM);
  EXPECT_EQ(daemon->process().Wait(), kOk);
  const std::vector<std::string> lines =
      absl::StrSplit(daemon->process().Output(), '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, Each(AllOf(StartsWith("{\"time\":\""), ::testing::EndsWith("\"}"))));
  EXPECT_THAT(lines[0], HasSubstr("\"message\":\"job 'say \\\"hi\\\"': serving at"));
}

TEST(DaemonTest, ASecondDaemonOnThePortIsRefused) {
  const auto daemon = TestDaemon::Start();
  const auto second = Process::Start({MusterdPath(), "--listen=" + daemon->address()});
  EXPECT_EQ(second->Wait(), kFailed);
  EXPECT_THAT(second->Output(),
              AllOf(HasSubstr(daemon->address()), HasSubstr("another process uses this port")));
}

TEST(DaemonTest, TwoDaemonsServeTwoJobs) {
  const auto first = TestDaemon::Start({"--job=one"});
  const auto second = TestDaemon::Start({"--job=two"});
  TestMember::Options one;
  one.job = "one";
  TestMember::Options two;
  two.job = "two";
  TestJob job_one(first->address(), 2, one);
  TestJob job_two(second->address(), 3, two);
  EXPECT_THAT(job_one.All([](TestMember& m) { return m.Barrier(); }), Each(IsOk()));
  EXPECT_THAT(job_two.All([](TestMember& m) { return m.Barrier(); }), Each(IsOk()));
  TestMember lost_its_way(second->address(), one);
  EXPECT_THAT(lost_its_way.Attach(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("'two'")));
}

// Slurm's job id and restart count distinguish runs.
TEST(DaemonTest, AProcessOfAnEarlierRunIsRefused) {
  const auto daemon = TestDaemon::Start({}, {{"SLURM_JOB_ID", "77"}, {"SLURM_RESTART_COUNT", "1"}});
  TestMember::Options options;
  options.job = "slurm-77-0";
  TestMember earlier(daemon->address(), options);
  EXPECT_THAT(earlier.Attach(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("serves job 'slurm-77-1', not 'slurm-77-0'"),
                             HasSubstr("check MUSTER_JOB"))));
  options.job = "slurm-77-1";
  TestMember now(daemon->address(), options);
  EXPECT_THAT(now.Attach(), IsOk());
}

std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (!absl::ascii_isdigit(entry.path().filename().string()[0])) continue;
    const std::string stat = ReadFile(entry.path() / "stat");
    pid_t pid = 0, of = 0;
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || sscanf(stat.c_str(), "%d", &pid) != 1) continue;
    if (sscanf(stat.c_str() + name_end, ") %*c %d", &of) == 1 && of == parent) {
      children.push_back(pid);
    }
  }
  return children;
}

// musterd's child ends once the port is known. If it were not reaped, it would stay a zombie.
TEST(DaemonTest, AsAContainersFirstProcessItReapsAndEndsAtSigterm) {
  if (system("unshare --pid --fork true 2>/dev/null") != 0) {
    GTEST_SKIP() << "this machine allows no PID namespace";
  }
  const std::string port_file = MakeTempDir() + "/port";
  const std::string script =
      "(until [ -s \"$1\" ]; do sleep 0.01; done) & exec \"$0\" --listen=127.0.0.1:0 "
      "--port-file=\"$1\"";
  const auto container =
      Process::Start({"unshare", "--pid", "--fork", "sh", "-c", script, MusterdPath(), port_file});
  ASSERT_GT(AwaitPort(*container, port_file), 0);
  const std::vector<pid_t> first = ChildrenOf(container->pid());
  ASSERT_EQ(first.size(), 1u);
  EXPECT_TRUE(WaitUntil([&] { return ChildrenOf(first[0]).empty(); }));
  kill(first[0], SIGTERM);
  EXPECT_EQ(container->Wait(), kOk);
}

TEST(DaemonTest, SigtermDrainsParkedCalls) {
  const auto daemon = TestDaemon::Start();
  TestJob job(daemon->address(), 2);
  auto parked = std::async(std::launch::async, [&job] { return job[0].Barrier(); });
  AwaitStatus(job[0].stub(), [](const v1::GetStatusResponse& status) {
    return status.pending_collectives_size() == 1;
  });
  daemon->process().Signal(SIGTERM);
  const auto why = StatusIs(absl::StatusCode::kUnavailable, HasSubstr("told to stop by a signal"));
  EXPECT_THAT(parked.get(), why);
  EXPECT_THAT(job[1].NextEvent(), why);
  EXPECT_EQ(daemon->process().Wait(), kOk);
  EXPECT_FALSE(Exists(daemon->port_file()));
}

TEST(DaemonTest, SigintDrainsToo) {
  const auto daemon = TestDaemon::Start();
  daemon->process().Signal(SIGINT);
  EXPECT_EQ(daemon->process().Wait(), kOk);
}

TEST(DaemonTest, TheDrainTimeMayBeZero) {
  const auto daemon = TestDaemon::Start({"--drain-time=0s"});
  TestJob job(daemon->address(), 2);
  daemon->process().Signal(SIGTERM);
  EXPECT_EQ(daemon->process().Wait(), kOk);
}

// A live member has the keepalive time-out too, which is long enough for any answer.
TEST(DaemonTest, AStoppedMemberIsNoticedByKeepalive) {
  const auto daemon = TestDaemon::Start(
      {"--keepalive-time=500ms", "--keepalive-timeout=5s", "--member-grace=100ms"});
  const auto member = StartMember(*daemon);
  member->Signal(SIGSTOP);
  const auto stub = v1::CoordinatorService::NewStub(Connect(daemon->address()));
  AwaitStatus(stub.get(), [](const v1::GetStatusResponse& status) {
    return status.state() == v1::JOB_STATE_FAILED;
  });
}

TEST(DaemonTest, ASilentMemberStaysAMember) {
  const auto daemon =
      TestDaemon::Start({"--keepalive-time=10ms", "--keepalive-timeout=20s", "--member-grace=0s"});
  const auto member = StartMember(*daemon);
  const auto stub = v1::CoordinatorService::NewStub(Connect(daemon->address()));
  AwaitStatus(stub.get(), [](const v1::GetStatusResponse& status) {
    return status.members(0).since_last_call().nanos() > 300000000;  // many keepalive times
  });
  const auto status = GetStatus(stub.get());
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(status->state(), v1::JOB_STATE_RUNNING);
}

TEST(DaemonTest, AStoppedMemberDoesNotHoldUpTheDrain) {
  const auto daemon = TestDaemon::Start({"--drain-time=1h"});
  const auto member = StartMember(*daemon);
  member->Signal(SIGSTOP);
  daemon->process().Signal(SIGTERM);
  EXPECT_EQ(daemon->process().Wait(), kOk);
}

TEST(DaemonTest, ExitsWellWhenEveryMemberHasLeft) {
  const auto daemon = TestDaemon::Start({"--exit-when-done"});
  {
    TestJob job(daemon->address(), 2);
    EXPECT_THAT(job.All([](TestMember& m) { return m.Leave(); }), Each(IsOk()));
  }
  EXPECT_EQ(daemon->process().Wait(), kOk);
  EXPECT_THAT(daemon->process().Output(), HasSubstr("every member has left"));
}

TEST(DaemonTest, WaitsForMembersToDisconnectOnlyTheDrainTime) {
  const auto daemon = TestDaemon::Start({"--exit-when-done", "--drain-time=1s"});
  TestJob job(daemon->address(), 2);
  EXPECT_THAT(job.All([](TestMember& m) { return m.Leave(); }), Each(IsOk()));
  EXPECT_EQ(daemon->process().Wait(), kOk);
}

TEST(DaemonTest, ExitsWithAnErrorThatNamesTheLossWhenTheJobFails) {
  const auto daemon = TestDaemon::Start({"--exit-when-done", "--member-grace=10ms"});
  {
    TestJob job(daemon->address(), 2);
    job[1].Disconnect();
    EXPECT_THAT(job[0].Barrier(), StatusIs(absl::StatusCode::kAborted, HasSubstr("rank 1")));
  }
  EXPECT_EQ(daemon->process().Wait(), kFailed);
  EXPECT_THAT(daemon->process().Output(), AllOf(HasSubstr("has failed"), HasSubstr("rank 1")));
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(daemon->process().Output(), "was lost")),
              SizeIs(2))
      << "it is said once: " << daemon->process().Output();
}

TEST(DaemonTest, StaysAfterTheJobUnlessToldToExit) {
  const auto daemon = TestDaemon::Start();
  TestJob job(daemon->address(), 1);
  EXPECT_THAT(job[0].Leave(), IsOk());
  job[0].Disconnect();
  const auto status = GetStatus(job[0].stub());
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(status->state(), v1::JOB_STATE_FINISHED);
}

TEST(DaemonTest, FreesItsPortForTheNextDaemon) {
  auto first = TestDaemon::Start();
  const std::string address = first->address();
  TestJob job(address, 2);
  first->process().Signal(SIGKILL);
  first->process().Wait();
  const auto next = Process::Start({MusterdPath(), "--listen=" + address});
  EXPECT_TRUE(next->WaitForOutput("serving at " + address));
}

}  // namespace
}  // namespace muster::testing
