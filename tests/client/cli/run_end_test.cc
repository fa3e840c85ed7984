// Tests of how runs end: the command's exit status and its messages.

#include <signal.h>
#include <sys/stat.h>

#include <fstream>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/muster_command.h"

namespace muster::cli {
namespace {

using muster::testing::Exit;
using muster::testing::MakeTempDir;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Exit Status(int status) { return {false, status}; }

TEST(RunEndTest, SuccessPrintsNoSummary) {
  MusterCommand muster({"run", "--nproc-per-node", "4", "--", "true"});
  EXPECT_EQ(muster.process().Wait(), Status(0));
  EXPECT_THAT(WithoutCoordinator(muster.process().Output()), IsEmpty());
  EXPECT_TRUE(muster.WaitForNone());
}

TEST(RunEndTest, AFailedRankGivesTheExitStatusAndIsNamed) {
  MusterCommand muster(
      RunShell({"--nproc-per-node=3", "--node-id=n0", "--job=j", "--failure-wait=0s"},
               "[ $RANK != 1 ] || exit 7; exec sleep 1001"));
  EXPECT_EQ(muster.process().Wait(), Status(7));
  EXPECT_THAT(muster.process().Output(),
              HasSubstr("muster: rank 1 exited with status 7; ending ranks 0,2"));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("muster: job j failed: rank 1 \\(pid [0-9]+, node n0\\) exited with "
                            "status 7; ended by the launcher: ranks 0,2\n$"));
  EXPECT_TRUE(muster.WaitForNone());
}

// The exit status asks the scheduler for another node, and for a look at this one.
TEST(RunEndTest, ANodeWithoutRoomForTheRanksIsUnhealthy) {
  const auto muster = MusterCommand::Wrapped(
      {"sh", "-c", "ulimit -n 24; exec \"$MUSTER\" run --nproc-per-node 16 -- true"});
  EXPECT_EQ(muster->process().Wait(), Status(77));
  EXPECT_THAT(muster->process().Output(),
              AllOf(HasSubstr("cannot start rank "), HasSubstr("Too many open files"),
                    HasSubstr("this node has no room for it: 'ulimit -n'")));
  EXPECT_TRUE(muster->WaitForNone());
}

TEST(RunEndTest, AKilledRankIsNamedWithItsSignal) {
  MusterCommand muster(RunShell({"--nproc-per-node=2", "--failure-wait=0s"},
                                "[ $RANK != 1 ] || kill -SEGV $$; exec sleep 1001"));
  EXPECT_EQ(muster.process().Wait(), Status(128 + SIGSEGV));
  EXPECT_THAT(muster.process().Output(), HasSubstr("was killed by signal 11 (SIGSEGV)"));
}

TEST(RunEndTest, SurvivorsMayReportTheFailureThemselves) {
  // Rank 0 ends after rank 1, like a rank that learns of the loss through the coordinator.
  const std::string file = MakeTempDir() + "/pid";
  MusterCommand muster(
      RunShell({"--nproc-per-node=2", "--failure-wait=10m"},
               absl::StrCat("f=", file,
                            "; if [ $RANK = 1 ]; then echo $$ >$f.new; mv $f.new "
                            "$f; exit 7; fi; until [ -e $f ]; do sleep 0.01; done; "
                            "while kill -0 $(cat $f); do sleep 0.01; done "
                            "2>/dev/null; echo peer lost; exit 3")));
  EXPECT_EQ(muster.process().Wait(), Status(7));
  EXPECT_THAT(muster.process().Output(), HasSubstr("[0] peer lost\n"));
  EXPECT_THAT(muster.process().Output(), HasSubstr("; then rank 0 exited with status 3\n"));
}

// Rank 0 is healthy, but exits first, with the status for a failed job.
TEST(RunEndTest, TheGuiltyRankGivesTheExitStatus) {
  const std::string file = MakeTempDir() + "/healthy-has-ended";
  MusterCommand muster(RunShell(
      {"--nproc-per-node=2", "--failure-wait=10m"},
      absl::StrCat("f=", file,
                   "; if [ $RANK = 0 ]; then echo $$ >$f.new; mv $f.new $f; exit 75; fi; until [ "
                   "-e $f ]; do sleep 0.01; done; while kill -0 $(cat $f); do sleep 0.01; done "
                   "2>/dev/null; exit 7")));
  EXPECT_EQ(muster.process().Wait(), Status(7));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex(" failed: rank 1 .* exited with status 7; then rank 0 exited with "
                            "status 75\n$"));
}

TEST(RunEndTest, TheReasonGoesToTheTerminationLog) {
  const std::string log = MakeTempDir() + "/termination-log";
  const std::map<std::string, std::string> env = {{"MUSTER_TERMINATION_LOG", log}};
  MusterCommand failing(RunShell({"--job=j", "--node-id=n0"}, "exit 7"), env);
  EXPECT_EQ(failing.process().Wait(), Status(7));
  EXPECT_THAT(ReadFile(log),
              ContainsRegex("^job j failed: rank 0 \\(pid [0-9]+, node n0\\) exited with status "
                            "7\n$"));
  MusterCommand well({"run", "--", "true"}, env);
  EXPECT_EQ(well.process().Wait(), Status(0));
  EXPECT_THAT(ReadFile(log), HasSubstr("exited with status 7"));
  MusterCommand wrong({"run", "--nproc-per-node=x", "--", "true"}, env);
  EXPECT_EQ(wrong.process().Wait(), Status(64));
  EXPECT_THAT(ReadFile(log), HasSubstr("--nproc-per-node is 'x'"));
}

TEST(RunEndTest, ARanksLastOutputPrecedesTheReport) {
  MusterCommand muster(RunShell({}, "echo my last words >&2; exit 1"));
  EXPECT_EQ(muster.process().Wait(), Status(1));
  EXPECT_THAT(WithoutCoordinator(muster.process().Output()),
              ContainsRegex("^\\[0\\] my last words\nmuster: job run-[0-9a-f]+ failed: rank 0"));
}

TEST(RunEndTest, RanksThatIgnoreSigtermAreKilled) {
  MusterCommand muster(RunShell({"--nproc-per-node=2", "--failure-wait=0s", "--grace=10ms"},
                                "[ $RANK != 1 ] || exit 7; trap '' TERM; echo up; "
                                "while :; do sleep 1001; done"));
  EXPECT_EQ(muster.process().Wait(), Status(7));
  EXPECT_TRUE(muster.WaitForNone());
}

TEST(RunEndTest, BackgroundProcessesAreKilledAtTheEnd) {
  MusterCommand muster(RunShell({"--nproc-per-node=2", "--grace=10ms"},
                                "trap '' TERM HUP; sleep 1001 & setsid sleep 1002 & "
                                "(setsid sh -c 'sleep 1003 & exec sleep 1004' &)"));
  EXPECT_EQ(muster.process().Wait(), Status(0));
  EXPECT_THAT(muster.Processes(), IsEmpty()) << "before the command ends, not some time after";
}

// ---- Signals ----

class ForwardedSignalTest : public ::testing::TestWithParam<int> {};

TEST_P(ForwardedSignalTest, ReachesEveryRankOnce) {
  // The rank lives on for a while, so that a second signal would be seen.
  const std::string script =
      "trap 'echo got it; turns=20' INT TERM HUP QUIT; echo ready; "
      "until [ \"$turns\" = 0 ]; do sleep 0.01; turns=${turns:+$((turns - 1))}; done; exit 5";
  MusterCommand muster(RunShell({"--nproc-per-node=2"}, script));
  ASSERT_TRUE(muster.process().WaitForOutput("[0] ready"));
  ASSERT_TRUE(muster.process().WaitForOutput("[1] ready"));
  muster.process().Signal(GetParam());
  EXPECT_EQ(muster.process().Wait(), Status(5));
  const std::vector<std::string> lines = SortedLines(muster.process().Output());
  EXPECT_EQ(absl::c_count(lines, "[0] got it"), 1) << muster.process().Output();
  EXPECT_EQ(absl::c_count(lines, "[1] got it"), 1) << muster.process().Output();
  EXPECT_THAT(lines, Contains(HasSubstr("passing it on to ranks 0-1")).Times(1));
}

INSTANTIATE_TEST_SUITE_P(All, ForwardedSignalTest,
                         ::testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT));

TEST(SignalTest, ReachesTheProgramBehindAShell) {
  MusterCommand muster(RunShell({}, "sh -c 'echo ready; sleep 1001; echo not reached'; exit 9"));
  ASSERT_TRUE(muster.process().WaitForOutput("ready"));
  ASSERT_TRUE(muster.WaitForProcesses("sleep 1001", 1));
  muster.process().Signal(SIGTERM);
  EXPECT_EQ(muster.process().Wait(), Status(128 + SIGTERM));
  EXPECT_THAT(muster.process().Output(), HasSubstr("was ended by SIGTERM"));
  EXPECT_THAT(muster.process().Output(), Not(HasSubstr("not reached")));
}

TEST(SignalTest, RanksThatEndWellMakeASuccess) {
  MusterCommand muster(
      RunShell({}, "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done"));
  ASSERT_TRUE(muster.process().WaitForOutput("ready"));
  muster.process().Signal(SIGTERM);
  EXPECT_EQ(muster.process().Wait(), Status(0));
}

constexpr char kStubborn[] =
    "trap 'echo not yet' INT TERM; echo ready; while :; do sleep 0.01; done";

TEST(SignalTest, ASecondSignalKills) {
  MusterCommand muster(RunShell({"--grace=1h"}, kStubborn));
  ASSERT_TRUE(muster.process().WaitForOutput("ready"));
  muster.process().Signal(SIGTERM);
  ASSERT_TRUE(muster.process().WaitForOutput("not yet"));
  muster.process().Signal(SIGINT);
  EXPECT_EQ(muster.process().Wait(), Status(128 + SIGKILL));
  EXPECT_THAT(muster.process().Output(), HasSubstr("got SIGINT again; sending SIGKILL"));
  EXPECT_TRUE(muster.WaitForNone());
}

TEST(SignalTest, TheGraceEndsWithSigkill) {
  MusterCommand muster(RunShell({"--grace=10ms"}, kStubborn));
  ASSERT_TRUE(muster.process().WaitForOutput("ready"));
  muster.process().Signal(SIGTERM);
  EXPECT_EQ(muster.process().Wait(), Status(128 + SIGKILL));
  EXPECT_THAT(muster.process().Output(),
              HasSubstr("rank 0 did not end within 10ms; sending SIGKILL"));
}

TEST(SignalTest, StoppedRanksGetTheSignalToo) {
  MusterCommand muster(RunShell({"--grace=1h"}, "echo ready; kill -STOP $$; sleep 1001"));
  ASSERT_TRUE(muster.process().WaitForOutput("ready"));
  muster.process().Signal(SIGTERM);
  EXPECT_EQ(muster.process().Wait(), Status(128 + SIGTERM));
}

TEST(SignalTest, NohupIsHonoured) {
  const std::string file = MakeTempDir() + "/go";
  const auto muster = MusterCommand::Wrapped(
      {"sh", "-c",
       "trap '' HUP; exec \"$MUSTER\" run -- sh -c 'echo ready; until [ -e \"$0\" ]; do sleep "
       "0.01; done; echo done' \"$0\"",
       file});
  ASSERT_TRUE(muster->process().WaitForOutput("ready"));
  muster->process().Signal(SIGHUP);
  std::ofstream(file).close();
  EXPECT_EQ(muster->process().Wait(), Status(0));
  EXPECT_EQ(WithoutCoordinator(muster->process().Output()), "[0] ready\n[0] done\n");
}

TEST(SignalTest, TheSignalOfTimeoutCountsOnce) {
  const auto muster = MusterCommand::Wrapped(
      {"sh", "-c",
       "exec timeout 0.5 \"$MUSTER\" run -- sh -c 'trap \"exit 4\" TERM; while :; do sleep 0.01; "
       "done'"});
  EXPECT_EQ(muster->process().Wait(), Status(124)) << "timeout's own status";
  EXPECT_THAT(muster->process().Output(), Not(HasSubstr("again")));
}

TEST(SignalTest, WorksForABackgroundCommandOfAShell) {
  // A shell without job control makes its background processes ignore SIGINT.
  const auto muster = MusterCommand::Wrapped(
      {"sh", "-c", "trap '' INT; exec \"$MUSTER\" run -- sh -c 'echo ready; exec sleep 1001'"});
  ASSERT_TRUE(muster->process().WaitForOutput("ready"));
  muster->process().Signal(SIGINT);
  EXPECT_EQ(muster->process().Wait(), Status(128 + SIGINT));
}

// ---- Programs that cannot be executed ----

void ExpectRefused(const std::string& program, int status, const std::string& why) {
  MusterCommand muster({"run", "--nproc-per-node", "2", "--", program});
  EXPECT_EQ(muster.process().Wait(), Status(status));
  EXPECT_THAT(muster.process().Output(), HasSubstr("muster: cannot "));
  EXPECT_THAT(muster.process().Output(), HasSubstr(why));
  EXPECT_THAT(muster.Processes(), IsEmpty());
}

std::string WriteScript(const std::string& text, int mode) {
  const std::string path = MakeTempDir() + "/script";
  std::ofstream(path) << text;
  EXPECT_EQ(chmod(path.c_str(), mode), 0);
  return path;
}

TEST(ExecTest, NotFound) {
  ExpectRefused("no-such-program", 127,
                "no-such-program: not found in PATH; give its path, or add its folder to PATH");
  ExpectRefused("./no-such-program", 127, "./no-such-program: No such file or directory");
}

TEST(ExecTest, NotExecutable) {
  ExpectRefused(WriteScript("#!/bin/sh\n", 0644), 126, "Permission denied");
  ExpectRefused("/etc", 126, "/etc: is a directory");
}

TEST(ExecTest, NoSuchInterpreter) {
  ExpectRefused(WriteScript("#!/no/such/interpreter\n", 0755), 127, "cannot start rank 0");
}

TEST(ExecTest, AScriptWithoutAnInterpreterRunsInAShell) {
  MusterCommand muster({"run", "--", WriteScript("echo from a script\n", 0755)});
  EXPECT_EQ(muster.process().Wait(), Status(0));
  EXPECT_EQ(WithoutCoordinator(muster.process().Output()), "[0] from a script\n");
}

}  // namespace
}  // namespace muster::cli
