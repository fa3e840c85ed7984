// `muster run` and `muster status` with ranks that join a real coordinator.

#include <google/protobuf/util/json_util.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/process/cpu_affinity.h"
#include "common/text/number_ranges.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/v1/coordinator.pb.h"
#include "tests/client/cli/muster_command.h"
#include "tests/util/job/ranks.h"

namespace muster::cli {
namespace {

using muster::testing::Args;
using muster::testing::CountOf;
using muster::testing::Exit;
using muster::testing::kSuccess;
using muster::testing::MusterdPath;
using muster::testing::PidOf;
using muster::testing::RankCommand;
using muster::testing::TestDaemon;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const Args kLeave = {"place", "leave"};
// Three ranks. The first holds a lease, and the last does not come to the barrier.
const Args kWait = {"place", "0:hold=node", "2:loss", "barrier"};

// Flags of `muster run` for two ranks of job "j". The wait is long enough for the slowest machine
// to end on its own.
const Args kPatientPair = {"--nproc-per-node=2", "--job=j", "--failure-wait=1m"};

// Returns the words of "muster run flags... -- rank steps...".
Args RunRanks(Args flags, const Args& steps) {
  flags.insert(flags.begin(), "run");
  flags.push_back("--");
  for (const std::string& word : RankCommand(steps)) flags.push_back(word);
  return flags;
}

bool IsStopped(pid_t pid) {
  return absl::StrContains(ReadFile(absl::StrCat("/proc/", pid, "/status")), "State:\tT");
}

std::vector<std::string> OfNode(int node, const TestDaemon& daemon) {
  return {"--coordinator",      daemon.address(),
          "--nnodes=2",         absl::StrCat("--node-rank=", node),
          "--nproc-per-node=2", absl::StrCat("--node-id=n", node)};
}

TEST(StandaloneTest, RankComesFromTheJob) {
  MusterCommand muster(RunRanks({"--nproc-per-node=4", "--node-id=n0"}, kLeave),
                       {{"MUSTER_MUSTERD", MusterdPath()}});
  EXPECT_EQ(muster.process().Wait(), kSuccess) << muster.process().Output();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(muster.process().Output(),
                ContainsRegex(absl::StrCat("\\[", rank, "\\] rank ", rank, " of 4, RANK is ", rank,
                                           ", node 0 n0\n")));
  }
  EXPECT_TRUE(muster.WaitForNone());
}

TEST(StandaloneTest, TheStatusShowsTheCpusOfABoundRank) {
  const std::unique_ptr<TestDaemon> daemon = TestDaemon::Start({"--job=j", "--world-size=1"});
  ASSERT_NE(daemon, nullptr);
  MusterCommand run(
      RunRanks({"--coordinator", daemon->address(), "--job=j", "--node-id=n0", "--bind-to=core"},
               {"place", "hold=node", "loss"}),
      {{"MUSTER_RUNTIME_DIR", muster::testing::MakeTempDir()}});
  ASSERT_TRUE(run.process().WaitForOutput("rank 0 of 1, "));
  const std::string cpus = NumberRanges(CpusOf(PidOf(0, run.process())));
  EXPECT_THAT(run.process().Output(), HasSubstr(cpus));
  MusterCommand status({"status", "--coordinator", daemon->address()});
  EXPECT_EQ(status.process().Wait(), kSuccess);
  EXPECT_THAT(status.process().Output(),
              AllOf(ContainsRegex("\nRANK +NODE +PID +CPUS +STATE"),
                    ContainsRegex(absl::StrCat("\n0 +n0 +[0-9]+ +", cpus, " +running"))));
}

TEST(StandaloneTest, MusterdIsFoundBesideTheCommand) {
  const auto muster = MusterCommand::Wrapped(
      {"sh", "-c", "unset MUSTER_MUSTERD; exec \"$MUSTER\" run -- \"$0\" place leave",
       RankCommand({})[0]});
  EXPECT_EQ(muster->process().Wait(), kSuccess) << muster->process().Output();
  EXPECT_THAT(muster->process().Output(), HasSubstr("rank 0 of 1, "));
}

TEST(StandaloneTest, NothingOutlivesAKilledLauncher) {
  MusterCommand muster(RunRanks({"--nproc-per-node=3"}, kWait),
                       {{"MUSTER_MUSTERD", MusterdPath()}});
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(muster.process().WaitForOutput(absl::StrCat("rank ", rank, " of 3, ")));
  }
  muster.process().Signal(SIGKILL);
  muster.process().Wait();
  EXPECT_TRUE(muster.WaitForNone());
}

TEST(StandaloneTest, SurvivorsLearnTheCauseFromTheLauncher) {
  MusterCommand muster(RunRanks({"--nproc-per-node=3", "--failure-wait=10m"}, kWait),
                       {{"MUSTER_MUSTERD", MusterdPath()}, {"MUSTER_MEMBER_GRACE", "10m"}});
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(muster.process().WaitForOutput(absl::StrCat("rank ", rank, " of 3, ")));
  }
  kill(PidOf(1, muster.process()), SIGKILL);
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 128 + SIGKILL}));
  for (int survivor : {0, 2}) {
    EXPECT_THAT(muster.process().Output(),
                ContainsRegex(absl::StrCat("\\[", survivor,
                                           "\\] error: .*rank 1 .*killed by signal 9 \\(SIGKILL")));
  }
  EXPECT_THAT(muster.process().Output(), HasSubstr("; then ranks 0,2 exited with status 3\n"));
}

// Without the coordinator's knowledge the launcher would take the rank for one that finished.
TEST(StandaloneTest, ARankThatForgetsToLeaveIsToBlame) {
  MusterCommand muster(RunRanks(kPatientPair, {"0:exit=0", "barrier"}),
                       {{"MUSTER_MUSTERD", MusterdPath()}});
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(
      muster.process().Output(),
      ContainsRegex("muster: job j failed: rank 0 [^\n]*: ended with 0 without "
                    "Leave\\(\\); call job->Leave\\(\\) before main returns; [^\n]*; then rank "
                    "1 exited with status 3\n$"));
}

TEST(StandaloneTest, RanksThatAllForgetToLeaveFail) {
  MusterCommand muster(RunRanks(kPatientPair, {"barrier", "exit=0"}),
                       {{"MUSTER_MUSTERD", MusterdPath()}});
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("muster: job j failed: rank [01] [^\n]*: ended with 0 without "
                            "Leave\\(\\); call job->Leave\\(\\) before main returns; [^\n]*\n$"));
}

// The run's last line reports the failure, with what the coordinator knows of it.
TEST(StandaloneTest, OneFailureIsOneLine) {
  MusterCommand muster(RunRanks(kPatientPair, {"barrier", "1:exit=7", "loss"}),
                       {{"MUSTER_MUSTERD", MusterdPath()}});
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 7}));
  const std::string& output = muster.process().Output();
  EXPECT_THAT(output,
              ContainsRegex("muster: job j failed: rank 1 \\(host [^\n]*, pid [0-9]+\\) was "
                            "lost at [^\n]*: exited with status 7; last completed "
                            "Barrier[^\n]*; then rank 0 [^\n]*\n$"));
  EXPECT_THAT(output, Not(HasSubstr("[musterd]")));
  // The launcher announces that it ends rank 0 only if that takes longer than a second.
  const int announced = CountOf(output, "muster: rank 1 exited with status 7; ending rank 0: ");
  EXPECT_LE(announced, 1) << output;
  EXPECT_EQ(CountOf(output, "muster: "), 2 + announced)
      << "with the coordinator's address: " << output;
}

TEST(TwoNodesTest, MakeOneJob) {
  const auto daemon = TestDaemon::Start({"--world-size=4"});
  ASSERT_NE(daemon, nullptr);
  MusterCommand second(RunRanks(OfNode(1, *daemon), kLeave));
  MusterCommand first(RunRanks(OfNode(0, *daemon), kLeave));
  EXPECT_EQ(first.process().Wait(), kSuccess) << first.process().Output();
  EXPECT_EQ(second.process().Wait(), kSuccess) << second.process().Output();
  EXPECT_THAT(first.process().Output(), HasSubstr("rank 1 of 4, RANK is 1, node 0 n0"));
  EXPECT_THAT(second.process().Output(), HasSubstr("rank 2 of 4, RANK is 2, node 1 n1"));
}

TEST(TwoNodesTest, AKilledLauncherEndsTheOtherNodesRun) {
  const auto daemon = TestDaemon::Start({"--world-size=4"});
  ASSERT_NE(daemon, nullptr);
  MusterCommand first(RunRanks(OfNode(0, *daemon), kWait));
  MusterCommand second(RunRanks(OfNode(1, *daemon), kWait));
  ASSERT_TRUE(second.process().WaitForOutput("rank 3 of 4, "));
  second.process().Signal(SIGKILL);
  EXPECT_EQ(first.process().Wait(), (Exit{false, 3}));
  EXPECT_THAT(first.process().Output(), ContainsRegex("error: .*rank [23] "));
  EXPECT_TRUE(second.WaitForNone());
}

TEST(TwoNodesTest, AFailureOnOneNodeEndsRanksThatMakeNoCallsOnTheOther) {
  const auto daemon = TestDaemon::Start({"--world-size=4"});
  ASSERT_NE(daemon, nullptr);
  std::vector<std::string> flags = OfNode(0, *daemon);
  flags.push_back("--failure-wait=0s");
  MusterCommand first(RunRanks(flags, {"place", "wait=/nowhere"}));
  MusterCommand second(RunRanks(OfNode(1, *daemon), {"place", "wait=/nowhere"}));
  for (const char* rank : {"rank 0 of 4", "rank 1 of 4"}) {
    ASSERT_TRUE(first.process().WaitForOutput(rank));
  }
  ASSERT_TRUE(second.process().WaitForOutput("rank 3 of 4, "));
  kill(PidOf(3, second.process()), SIGKILL);
  EXPECT_EQ(first.process().Wait(), (Exit{false, 75}));
  EXPECT_THAT(first.process().Output(),
              HasSubstr("muster: the job has failed; ending ranks 0-1: SIGTERM in 0"));
  EXPECT_THAT(first.process().Output(),
              ContainsRegex("muster: job default failed: .*rank 3 .*; ended by the launcher: ranks "
                            "0-1\n$"));
  EXPECT_TRUE(first.WaitForNone());
}

TEST(TwoNodesTest, ANodeWhoseRanksFailBeforeTheyJoinEndsTheJobForAll) {
  const auto daemon = TestDaemon::Start({"--world-size=4", "--exit-when-done"});
  ASSERT_NE(daemon, nullptr);
  MusterCommand first(RunRanks(OfNode(0, *daemon), kLeave));
  MusterCommand second(RunShell(OfNode(1, *daemon), "exit $((RANK + 1))"));
  EXPECT_EQ(first.process().Wait(), (Exit{false, 3})) << "the ranks' own";
  EXPECT_THAT(
      first.process().Output(),
      ContainsRegex(
          "error: ABORTED: job 'default': the job has failed: .* the launcher of a node has given "
          "up its ranks: rank [23] \\(pid [0-9]+, node n1\\) exited with status [34]\n"));
  EXPECT_EQ(daemon->process().Wait(), (Exit{false, 1}));
}

TEST(TwoNodesTest, AnUnknownProgramOnOneNodeEndsPlainRanksOnTheOther) {
  const auto daemon = TestDaemon::Start({"--world-size=4"});
  ASSERT_NE(daemon, nullptr);
  std::vector<std::string> flags = OfNode(0, *daemon);
  flags.push_back("--failure-wait=0s");
  MusterCommand first(RunShell(flags, "exec sleep 1001"));
  ASSERT_TRUE(first.WaitForProcesses("sleep 1001", 2));
  MusterCommand second({"run", "--coordinator", daemon->address(), "--nnodes=2", "--node-rank=1",
                        "--node-id=n1", "--", "/no/such/program"});
  EXPECT_EQ(second.process().Wait(), (Exit{false, 127}));
  EXPECT_EQ(first.process().Wait(), (Exit{false, 75}));
  EXPECT_THAT(first.process().Output(), HasSubstr("the launcher of a node has given up its ranks: "
                                                  "node n1: cannot execute /no/such/program"));
}

TEST(TwoNodesTest, ARestartBeforeJoiningEndsNothing) {
  const auto daemon = TestDaemon::Start({"--world-size=4"});
  ASSERT_NE(daemon, nullptr);
  const std::string failed = muster::testing::MakeTempDir() + "/failed";
  std::vector<std::string> flags = OfNode(1, *daemon);
  for (const char* flag : {"--max-restarts=1", "--restart=rank"}) flags.push_back(flag);
  MusterCommand second(RunShell(
      flags, absl::StrCat("[ $LOCAL_RANK = 0 ] && mkdir ", failed, " 2>/dev/null && exit 3; exec ",
                          RankCommand({})[0], " place leave")));
  ASSERT_TRUE(second.process().WaitForOutput("exited with status 3; restarted as pid "));
  flags = OfNode(0, *daemon);
  flags.push_back("--max-restarts=1");
  MusterCommand first(RunRanks(flags, kLeave));
  EXPECT_EQ(first.process().Wait(), kSuccess) << first.process().Output();
  EXPECT_EQ(second.process().Wait(), kSuccess) << second.process().Output();
  EXPECT_THAT(daemon->process().Output(), Not(HasSubstr("given up its ranks")));
}

TEST(TwoNodesTest, AnotherJobIsRejected) {
  const auto daemon = TestDaemon::Start({"--job=digits"});
  ASSERT_NE(daemon, nullptr);
  MusterCommand muster(RunRanks({"--coordinator", daemon->address(), "--job=letters"}, kLeave));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 3}));
  EXPECT_THAT(muster.process().Output(), AllOf(HasSubstr("digits"), HasSubstr("letters")));
}

// ---- muster status ----

// A job of three ranks, two of which wait for the third.
class StatusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(daemon_, nullptr);
    job_ = std::make_unique<MusterCommand>(
        RunRanks({"--coordinator", daemon_->address(), "--nproc-per-node=3", "--job=digits",
                  "--node-id=n0", "--failure-wait=10m"},
                 kWait));
    ASSERT_TRUE(WaitUntil([this] { return Status().pending_collectives_size() == 1; }));
    ASSERT_TRUE(
        WaitUntil([this] { return Status().pending_collectives(0).arrived_ranks_size() == 2; }));
  }

  std::string StatusText(const std::vector<std::string>& flags) const {
    std::vector<std::string> arguments = {"status", "--coordinator", daemon_->address()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    MusterCommand status(arguments);
    EXPECT_EQ(status.process().Wait(), kSuccess);
    return status.process().Output();
  }

  muster::v1::GetStatusResponse Status() const {
    muster::v1::GetStatusResponse status;
    const std::string json = StatusText({"--json"});
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &status).ok()) << json;
    return status;
  }

  std::unique_ptr<TestDaemon> daemon_ = TestDaemon::Start({"--job=digits", "--world-size=3"});
  std::unique_ptr<MusterCommand> job_;
};

TEST_F(StatusTest, ShowsMembersAndMissingRanks) {
  const std::string text = StatusText({});
  EXPECT_THAT(text, HasSubstr("job digits: running"));
  EXPECT_THAT(text, HasSubstr("world size 3; musterd "));
  EXPECT_THAT(text, ContainsRegex("\n0 +n0 +[0-9]+ +running +in Barrier\\('in a "
                                  "barrier'\\).* for [0-9.hms]+ +"));
  EXPECT_THAT(text, ContainsRegex("\n2 +n0 +[0-9]+ +running +"));
  EXPECT_THAT(text,
              ContainsRegex("pending collectives\n.*MISSING.*\nworld +#0 +Barrier.* 0-1 +2 "));
  EXPECT_THAT(text, ContainsRegex("leases\n.*\nwork +node +n0 +rank 0 \\(pid [0-9]+\\)"));
}

TEST_F(StatusTest, AfterALossNamesItsCause) {
  kill(PidOf(1, job_->process()), SIGKILL);
  EXPECT_EQ(job_->process().Wait(), (Exit{false, 128 + SIGKILL}));
  ASSERT_GT(Status().timeline_size(), 0);
  EXPECT_THAT(Status().timeline().rbegin()->text(), HasSubstr("SIGKILL"));
  const std::string text = StatusText({});
  EXPECT_THAT(text, HasSubstr("job digits: failed"));
  EXPECT_THAT(text, ContainsRegex("recent failures\n.*\n(.*\n)*1 +n0 +[0-9]+ +.*SIGKILL"));
}

TEST_F(StatusTest, AnotherJobIsRejected) {
  MusterCommand status({"status", "--coordinator", daemon_->address(), "--job=letters"});
  EXPECT_EQ(status.process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(status.process().Output(), AllOf(HasSubstr("'digits'"), HasSubstr("'letters'")));
}

TEST_F(StatusTest, TheExitCodeShowsWhetherTheJobHasFailed) {
  const std::vector<std::string> ask = {"status", "--coordinator", daemon_->address(),
                                        "--exit-code"};
  EXPECT_EQ(MusterCommand(ask).process().Wait(), kSuccess);
  std::vector<std::string> watch = ask;
  watch.push_back("--watch=100ms");
  MusterCommand watching(watch);
  ASSERT_TRUE(watching.process().WaitForOutput("job digits: running"));
  kill(PidOf(1, job_->process()), SIGKILL);
  EXPECT_EQ(watching.process().Wait(), (Exit{false, 1}));
  EXPECT_EQ(MusterCommand(ask).process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(StatusText({}), HasSubstr("job digits: failed")) << "which is no error to tell";
}

TEST_F(StatusTest, FitsTheGivenWidth) {
  MusterCommand status({"status", "--coordinator", daemon_->address()}, {{"COLUMNS", "80"}});
  EXPECT_EQ(status.process().Wait(), kSuccess);
  for (const std::string& line : SortedLines(status.process().Output())) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

// Coordinators that `muster status` finds on its own.
class LocalStatusTest : public ::testing::Test {
 protected:
  std::string Status(const std::vector<std::string>& flags, int exit_status) const {
    std::vector<std::string> arguments = {"status"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    MusterCommand status(arguments, here_);
    EXPECT_EQ(status.process().Wait(), (Exit{false, exit_status})) << status.process().Output();
    return status.process().Output();
  }

  const std::map<std::string, std::string> here_ = {
      {"MUSTER_RUNTIME_DIR", muster::testing::MakeTempDir() + "/runtime"}};
};

TEST_F(LocalStatusTest, ShowsAllJobsOfThisMachineOrOne) {
  auto digits = TestDaemon::Start({"--job=digits", "--insecure"}, here_, "0.0.0.0:0");
  auto letters = TestDaemon::Start({"--job=letters"}, here_);
  ASSERT_TRUE(digits != nullptr && letters != nullptr);
  EXPECT_THAT(Status({}, 0), AllOf(HasSubstr("job digits: forming"), HasSubstr("job letters: ")));
  EXPECT_THAT(Status({"--job=letters"}, 0),
              AllOf(HasSubstr("job letters: forming"), Not(HasSubstr("job digits"))));
  EXPECT_THAT(Status({"--job=numbers"}, 1), HasSubstr("no coordinator of a job 'numbers'"));
  EXPECT_THAT(Status({"--watch"}, 64), HasSubstr("there are 2 here; say which by --job"));
  letters->Kill();
  EXPECT_THAT(Status({}, 0), AllOf(HasSubstr("job digits"), Not(HasSubstr("letters"))));
}

TEST_F(LocalStatusTest, KnowsTheTokenOfARun) {
  std::map<std::string, std::string> env = here_;
  env["MUSTER_MUSTERD"] = MusterdPath();
  MusterCommand run(RunRanks({"--nproc-per-node=2", "--job=digits"}, {"place", "wait=/nowhere"}),
                    env);
  ASSERT_TRUE(run.process().WaitForOutput("rank 1 of 2, "));
  EXPECT_THAT(Status({}, 0), HasSubstr("job digits: "));
  run.process().Signal(SIGKILL);
  EXPECT_TRUE(run.WaitForNone());
  EXPECT_THAT(Status({}, 1), HasSubstr("no coordinator runs on this machine for this user"));
}

TEST_F(LocalStatusTest, AJobWhoseTokenIsGoneHidesNoOther) {
  const std::string token = muster::testing::MakeTempDir() + "/token";
  std::ofstream(token) << std::string(64, 'a') << "\n";
  auto digits = TestDaemon::Start({"--job=digits", "--token-file=" + token}, here_);
  auto letters = TestDaemon::Start({"--job=letters"}, here_);
  ASSERT_TRUE(digits != nullptr && letters != nullptr);
  ASSERT_EQ(unlink(token.c_str()), 0);
  EXPECT_THAT(
      Status({}, 1),
      AllOf(HasSubstr(absl::StrCat("no status from the coordinator at ", digits->address(), ": ")),
            HasSubstr(token), HasSubstr("job letters: forming")));
}

TEST_F(LocalStatusTest, ReportsAStoppedJobAndHowToContinueIt) {
  std::map<std::string, std::string> env = here_;
  env["MUSTER_MUSTERD"] = MusterdPath();
  MusterCommand run(RunRanks({"--nproc-per-node=2", "--job=digits"}, {"place", "wait=/nowhere"}),
                    env);
  ASSERT_TRUE(run.process().WaitForOutput("rank 1 of 2, "));
  const std::vector<pid_t> musterd = run.ProcessesWith("--job=digits --world-size=2");
  ASSERT_EQ(musterd.size(), 1u);
  run.process().Signal(SIGTSTP);
  ASSERT_TRUE(run.process().WaitForOutput("got SIGTSTP"));
  ASSERT_TRUE(WaitUntil([&] { return IsStopped(musterd[0]) && IsStopped(run.process().pid()); }));
  EXPECT_THAT(Status({}, 1),
              HasSubstr(absl::StrCat("its process ", musterd[0],
                                     " (musterd) is stopped, as by Ctrl-Z; continue it with fg in "
                                     "its shell, or by: kill -CONT ",
                                     run.process().pid(), "\n")));
  run.process().Signal(SIGCONT);
  ASSERT_TRUE(WaitUntil([&] { return !IsStopped(musterd[0]); }));
  EXPECT_THAT(Status({}, 0), HasSubstr("job digits: "));
}

TEST_F(StatusTest, WatchesThroughARestartOfTheCoordinator) {
  MusterCommand watch({"status", "--watch=100ms"}, {{"MUSTER_COORDINATOR", daemon_->address()}});
  const auto pictures = [&watch] { return CountOf(watch.process().Output(), "job digits"); };
  ASSERT_TRUE(WaitUntil([&] { return pictures() > 1; }));
  daemon_->Kill();
  ASSERT_TRUE(watch.process().WaitForOutput("muster: no status from the coordinator at "));
  EXPECT_THAT(watch.process().Output(), HasSubstr("; trying again every 100ms\n"));
  daemon_->Restart();
  const int before = pictures();
  EXPECT_TRUE(WaitUntil([&] { return pictures() > before; }));
  EXPECT_TRUE(watch.process().Running());
}

}  // namespace
}  // namespace muster::cli
