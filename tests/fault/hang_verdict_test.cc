// Jobs that hang. The first line of `muster debug` names the rank that holds the job up, and what
// that process is doing. There is one test for each way to hang. docs/observe-reference.md has the
// table.

#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::Value;

// The output of `muster debug`, and the folder of its bundle.
struct DebugReport {
  std::string verdict;
  std::string output;
  std::string folder;
};

DebugReport Debug(const std::string& coordinator, const Args& flags = {"--wait=0s"}) {
  DebugReport report;
  report.folder = absl::StrCat(MakeTempDir(), "/bundle");
  Args command = {Runfile("client/cli/muster"),
                  "debug",
                  "--coordinator",
                  coordinator,
                  "--output",
                  report.folder};
  command.insert(command.end(), flags.begin(), flags.end());
  auto muster = Process::Start(command);
  EXPECT_EQ(muster->Wait(), kSuccess) << muster->Output();
  report.output = muster->Output();
  report.verdict = report.output.substr(0, report.output.find('\n'));
  return report;
}

// Returns a PATH in which gdb is a script. The script gets the process id in `pid`.
std::string FakeGdb(const std::string& script) {
  const std::string folder = MakeTempDir();
  const std::string gdb = folder + "/gdb";
  std::ofstream(gdb) << "#!/bin/sh\nfor pid; do :; done\n" << script;
  EXPECT_EQ(chmod(gdb.c_str(), 0700), 0);
  return absl::StrCat(folder, ":", std::getenv("PATH"));
}

// Rank 1 makes a step, and the others wait for it in a barrier.
class HangVerdictTest : public ::testing::Test {
 protected:
  HangVerdictTest() : folder_(MakeTempDir()) {}

  void Start(const std::string& step, const Args& daemon_flags = {"--world-size=3"}) {
    daemon_ = TestDaemon::Start(daemon_flags);
    run_ = LaunchAt(*daemon_, 3, {absl::StrCat("1:", step), "barrier", "leave"}, {"--node-id=n1"});
    ASSERT_TRUE(AwaitStep(*run_, {1}, step));
    ASSERT_TRUE(AwaitStep(*run_, {0, 2}, "barrier"));
    ASSERT_TRUE(StatusReader(daemon_->address()).WaitForParked(2, "Barrier"));
  }

  // Asks until the verdict matches, since the process may not have reached its step yet.
  template <typename Matcher>
  void ExpectVerdict(const Matcher& matcher) {
    std::string verdict;
    WaitUntil([&] {
      verdict = Debug(daemon_->address()).verdict;
      return Value(verdict, matcher);
    });
    EXPECT_THAT(verdict, matcher);
  }

  // Waits until `process` prints a match unasked. A slow start may have caused earlier verdicts.
  static void ExpectOutput(const Process& process, const std::string& regex) {
    EXPECT_TRUE(WaitUntil([&] { return Value(process.Output(), ContainsRegex(regex)); }))
        << process.Output();
  }

  // Waits until rank 1 blocks in read().
  bool AwaitRead() {
    if (!AwaitStep(*run_, {1}, "read=")) return false;
    const std::string call = absl::StrCat("/proc/", PidOf(1, *run_), "/syscall");
    return WaitUntil([&] { return absl::StartsWith(ReadFile(call), absl::StrCat(SYS_read, " ")); });
  }

  std::string Rank1() const { return absl::StrCat("rank 1 (node 'n1', host "); }
  auto IsAboutRank1InTheBarrier() const {
    return AllOf(StartsWith(Rank1()),
                 HasSubstr(absl::StrCat("pid ", PidOf(1, *run_),
                                        ") has not come to "
                                        "Barrier('in a barrier') op 0 of the world: ")),
                 HasSubstr("; 2 others wait for "));
  }

  const std::string folder_;
  std::unique_ptr<TestDaemon> daemon_;
  std::unique_ptr<Process> run_;
};

TEST_F(HangVerdictTest, ARankThatIsStopped) {
  const Gate gate;
  ASSERT_NO_FATAL_FAILURE(Start(gate.wait()));
  kill(PidOf(1, *run_), SIGSTOP);
  ExpectVerdict(AllOf(IsAboutRank1InTheBarrier(), HasSubstr("it is stopped; 'kill -CONT ")));
  kill(PidOf(1, *run_), SIGCONT);
  gate.Open();
  EXPECT_EQ(run_->Wait(), kSuccess) << run_->Output();
}

TEST_F(HangVerdictTest, ARankThatSleepsInARead) {
  const std::string pipe = folder_ + "/shard-7";
  ASSERT_NO_FATAL_FAILURE(Start("read=" + pipe));
  ExpectVerdict(AllOf(IsAboutRank1InTheBarrier(),
                      HasSubstr(absl::StrCat("it is in read() of ", pipe, ", a named pipe"))));
}

TEST_F(HangVerdictTest, ARankThatComputes) {
  const Gate gate;
  ASSERT_NO_FATAL_FAILURE(Start("compute=" + gate.path()));
  ExpectVerdict(AllOf(IsAboutRank1InTheBarrier(),
                      ContainsRegex("it computes \\([0-9]+ % of a processor\\)")));
  gate.Open();
  EXPECT_EQ(run_->Wait(), kSuccess) << run_->Output();
}

TEST_F(HangVerdictTest, ARankWhoseThreadsWaitForEachOthersMutexes) {
  ASSERT_NO_FATAL_FAILURE(Start("dead-lock"));
  ExpectVerdict(AllOf(
      IsAboutRank1InTheBarrier(),
      ContainsRegex("deadlock: it waits for its thread [0-9]+ .*, which waits for thread [0-9]+")));
}

TEST_F(HangVerdictTest, RanksThatWaitForEachOtherInDifferentCalls) {
  daemon_ = TestDaemon::Start({"--world-size=3"});
  run_ = LaunchAt(*daemon_, 3, {"1:pair-barrier", "barrier", "leave"}, {"--node-id=n1"});
  ASSERT_TRUE(StatusReader(daemon_->address()).WaitForParked(3, "Barrier"));
  ExpectVerdict(
      AllOf(StartsWith("ranks wait for each other in different calls: "),
            HasSubstr("ranks 0,2 wait in Barrier('in a barrier') op 0 of the world"),
            HasSubstr("rank 1 waits in Barrier('in a pair') op 0 of group 'pair' (ranks 0-1)"),
            HasSubstr("none of these calls can complete")));
}

TEST_F(HangVerdictTest, AProcessThatHasNotCalledJoin) {
  const std::string pipe = folder_ + "/index";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  daemon_ = TestDaemon::Start({"--world-size=2"});
  const std::string program = absl::StrCat("[ $RANK = 0 ] || cat < ", pipe, "; exec \"$0\" leave");
  run_ = Process::Start(
      LaunchCommand({"--coordinator", daemon_->address(), "--node-id=n1", "--nproc-per-node=2"},
                    {"sh", "-c", program, RankCommand({})[0]}));
  ASSERT_TRUE(StatusReader(daemon_->address()).WaitForParked(1, "Join"));
  ExpectVerdict(AllOf(StartsWith("rank 1 (node 'n1', pid "),
                      HasSubstr(") has not called Join: it is in "), HasSubstr(pipe),
                      HasSubstr("; 1 of 2 members have joined")));
}

TEST_F(HangVerdictTest, ARankThatHasEndedBeforeItJoined) {
  daemon_ = TestDaemon::Start({"--world-size=2"});
  run_ = Process::Start(
      LaunchCommand({"--coordinator", daemon_->address(), "--node-id=n1", "--nproc-per-node=2"},
                    {"sh", "-c", "[ $RANK = 1 ] || exec \"$0\" leave", RankCommand({})[0]}));
  ASSERT_TRUE(StatusReader(daemon_->address()).WaitForParked(1, "Join"));
  ExpectVerdict(
      AllOf(StartsWith("rank 1 (node 'n1', pid "),
            HasSubstr(") has not called Join: its process has ended; 1 of 2 members have joined")));
}

TEST_F(HangVerdictTest, RanksThatWereNeverStarted) {
  daemon_ = TestDaemon::Start({"--world-size=2"});
  run_ = LaunchAt(*daemon_, 1, {"leave"}, {"--nnodes=2", "--node-rank=0", "--node-id=n0"});
  ASSERT_TRUE(StatusReader(daemon_->address()).WaitForParked(1, "Join"));
  ExpectVerdict(
      "rank 1 was never started: launchers have answered on node 'n0' only; 1 of 2 members have "
      "joined");
}

// `muster run` stops reading the output of ranks when its own reader stops.
TEST_F(HangVerdictTest, ARankWhoseOutputIsNotRead) {
  daemon_ = TestDaemon::Start({"--world-size=3"});
  Args words =
      LaunchCommand({"--coordinator", daemon_->address(), "--node-id=n1", "--nproc-per-node=3"},
                    RankCommand({"1:fill-output", "barrier", "leave"}));
  run_ = Process::Start(
      {"sh", "-c", absl::StrCat("'", absl::StrJoin(words, "' '"), "' | sleep 1000")});
  ASSERT_TRUE(StatusReader(daemon_->address()).WaitForParked(2, "Barrier"));
  ExpectVerdict(AllOf(StartsWith(Rank1()),
                      HasSubstr("it is in write() of its standard output, a pipe"),
                      HasSubstr(", which is full: its reader does not read")));
}

TEST_F(HangVerdictTest, ARankBlockedByADisk) {
  ASSERT_NO_FATAL_FAILURE(Start("uninterruptible=" + folder_ + "/pipe"));
  ExpectVerdict(AllOf(IsAboutRank1InTheBarrier(), HasSubstr("which no signal ends (state D"),
                      HasSubstr("a disk, a file system or a driver does not answer")));
}

// Runs with the fakes of CUDA and NCCL. The others are in an all-reduce that the coordinator does
// not see, and no call of theirs can say which rank is missing.
TEST_F(HangVerdictTest, ARankMissingFromAnNcclOperation) {
  const Gate gate;
  daemon_ = TestDaemon::Start({"--world-size=3"});
  run_ = Process::Start(
      LaunchCommand({"--coordinator", daemon_->address(), "--node-id=n1", "--nproc-per-node=3"},
                    {Runfile("tests/client/nccl/rank/nccl_rank"), "connect", "allreduce",
                     absl::StrCat("1:", gate.wait()), "try:allreduce"}),
      {{"MUSTER_BACKEND", "nccl"}});
  ASSERT_TRUE(AwaitStep(*run_, {1}, gate.wait()));
  ASSERT_TRUE(AwaitStep(*run_, {0, 2}, "allreduce"));
  ExpectVerdict(AllOf(StartsWith(Rank1()), HasSubstr("stopped first, at op 2 of communicator "),
                      HasSubstr(", which it has not begun: it is in "),
                      HasSubstr("; 2 others are in AllReduce of 4194304 bytes, op 2 of ")));
}

// ---- Automatic verdicts, and the bundle ----

TEST_F(HangVerdictTest, IsLoggedWithAStallWarning) {
  const Gate gate;
  const std::string pipe = folder_ + "/shard-7";
  const std::string journal = folder_ + "/journal";
  daemon_ = TestDaemon::Start({"--world-size=2", "--stall-warning=300ms", "--journal=" + journal});
  run_ = LaunchAt(*daemon_, 2, {"0:" + gate.wait(), "1:read=" + pipe, "barrier", "leave"});
  ASSERT_TRUE(AwaitRead());
  gate.Open();
  const std::string verdict = "verdict: rank 1 .* it is in read\\(\\) of ";
  ExpectOutput(daemon_->process(), verdict);
  // A replay of the journal shows the verdict too.
  EXPECT_TRUE(WaitUntil([&] {
    auto replay = Process::Start({Runfile("client/cli/muster"), "replay", journal});
    return replay->Wait() == kSuccess && Value(replay->Output(), ContainsRegex(verdict));
  }));
}

TEST_F(HangVerdictTest, ComesWithADebugBundle) {
  setenv("NCCL_DEBUG", "WARN", 1);
  setenv("NCCL_MY_TOKEN", "hidden-from-bundles", 1);
  ASSERT_NO_FATAL_FAILURE(Start("read=" + folder_ + "/shard-7"));
  ASSERT_TRUE(AwaitRead());
  const DebugReport report = Debug(daemon_->address(), {"--wait=1m"});
  EXPECT_THAT(report.output, AllOf(ContainsRegex("1 +n1 +[0-9]+ +sleeps +in read\\(\\) of "),
                                   HasSubstr("the bundle is in " + report.folder)));
  const std::string rank = report.folder + "/nodes/n1/rank-1/";
  EXPECT_THAT(ReadFile(report.folder + "/verdict.txt"), StartsWith(report.verdict + "\n"));
  EXPECT_THAT(ReadFile(rank + "threads.txt"), HasSubstr("in read() of " + folder_ + "/shard-7"));
  EXPECT_THAT(ReadFile(rank + "output.txt"), HasSubstr("begins read="));
  EXPECT_THAT(ReadFile(rank + "environment.txt"),
              AllOf(HasSubstr("NCCL_DEBUG=WARN\n"), HasSubstr("NCCL_MY_TOKEN=(left out)\n"),
                    HasSubstr("MUSTER_PROCESS_SECRET=(left out)\n")));
  EXPECT_THAT(ReadFile(rank + "command.txt"), HasSubstr("tests/rank/rank\n"));
  EXPECT_THAT(ReadFile(report.folder + "/nodes/n1/disks.txt"), HasSubstr("/dev/shm: "));
  EXPECT_THAT(ReadFile(report.folder + "/coordinator/status.json"),
              HasSubstr("pending_collectives"));
  auto grep = Process::Start({"grep", "-r", "hidden-from-bundles", report.folder});
  EXPECT_EQ(grep->Wait(), (Exit{false, 1})) << grep->Output();
  unsetenv("NCCL_DEBUG");
  unsetenv("NCCL_MY_TOKEN");
}

TEST_F(HangVerdictTest, IsWrittenToTheDebugFolderOfARun) {
  const Gate gate;
  const std::string pipe = folder_ + "/shard-7";
  run_ = Launch(2, {"0:" + gate.wait(), "1:read=" + pipe, "barrier", "leave"},
                {"--node-id=n1", "--debug-dir", folder_ + "/hangs"},
                {{"MUSTER_STALL_WARNING", "300ms"}});
  ASSERT_TRUE(AwaitRead());
  gate.Open();
  const std::string in_read = "rank 1 \\(node 'n1', host .* it is in read\\(\\) of ";
  const std::string wrote = "muster: wrote what the ranks here are doing to ";
  ExpectOutput(*run_, "\\[musterd\\] .*verdict: " + in_read);
  ExpectOutput(*run_, wrote + "[^;\n]*; verdict: " + in_read);
  std::smatch line;
  const std::string output = run_->Output();
  ASSERT_TRUE(
      std::regex_search(output, line, std::regex(wrote + "([^;\n]*); verdict: " + in_read)));
  const std::string folder = line[1];
  EXPECT_THAT(ReadFile(folder + "/verdict.txt"), ContainsRegex("^" + in_read));
  EXPECT_THAT(ReadFile(folder + "/nodes/n1/rank-1/threads.txt"), HasSubstr("in read() of " + pipe));
}

// A debugger stops the process that it reads. If the debugger is killed, the process stays stopped
// for a moment.
TEST_F(HangVerdictTest, DebuggerIsNotReportedAsAStop) {
  // An orphan stays a zombie until the launcher calls wait(), which also reports stops. Once the
  // second orphan has gone, the launcher has handled the stop.
  const std::string tools = FakeGdb(
      "kill -STOP $pid\n"
      "for turn in 1 2; do\n"
      "  orphan=$(sleep 0 > /dev/null & echo $!)\n"
      "  while kill -0 $orphan 2>/dev/null; do sleep 0.01; done\n"
      "done\n"
      "echo all stacks\n");
  const Gate gate;
  daemon_ = TestDaemon::Start({"--world-size=2"});
  run_ = Launch(2, {absl::StrCat("1:", gate.wait()), "barrier", "leave"},
                {"--node-id=n1", "--coordinator", daemon_->address()}, {{"PATH", tools}});
  ASSERT_TRUE(StatusReader(daemon_->address()).WaitForParked(1, "Barrier"));
  const DebugReport report = Debug(daemon_->address(), {});
  EXPECT_EQ(ReadFile(report.folder + "/nodes/n1/rank-1/stacks.txt"), "all stacks\n");
  gate.Open();
  EXPECT_EQ(run_->Wait(), kSuccess) << run_->Output();
  EXPECT_THAT(run_->Output(), Not(HasSubstr("stopped")));
  EXPECT_THAT(daemon_->process().Output(), Not(HasSubstr("stopped")));
}

// The ranks end at the error. A debugger that ends after them has still read them.
TEST_F(HangVerdictTest, IsWrittenEvenIfTheRunEnds) {
  const std::string tools = FakeGdb(
      "while kill -0 $pid 2>/dev/null; do sleep 0.1; done\n"
      "echo all stacks\n");
  run_ = Launch(2, {absl::StrCat("1:read=", folder_, "/shard-7"), "barrier=1s", "leave"},
                {"--node-id=n1", "--debug-dir", folder_ + "/hangs", "--failure-wait=1s"},
                {{"PATH", tools}});
  EXPECT_FALSE(run_->Wait() == kSuccess);
  EXPECT_THAT(run_->Output(), HasSubstr("muster: wrote what the ranks here are doing to "));
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/hangs")) {
    folders.push_back(entry.path());
  }
  ASSERT_THAT(folders, SizeIs(1));
  EXPECT_THAT(ReadFile(folders[0] + "/verdict.txt"), StartsWith("rank 1 (node 'n1', host "));
  EXPECT_EQ(ReadFile(folders[0] + "/nodes/n1/rank-1/stacks.txt"), "all stacks\n");
}

TEST_F(HangVerdictTest, IsWrittenAsATar) {
  ASSERT_NO_FATAL_FAILURE(Start("read=" + folder_ + "/shard-7"));
  const std::string tar = folder_ + "/hang.tar";
  auto muster = Process::Start({Runfile("client/cli/muster"), "debug", "--coordinator",
                                daemon_->address(), "--output", tar, "--wait=0s"});
  ASSERT_EQ(muster->Wait(), kSuccess) << muster->Output();
  auto list = Process::Start({"tar", "--list", "--file", tar});
  ASSERT_EQ(list->Wait(), kSuccess);
  EXPECT_THAT(list->Output(), ContainsRegex("^hang-[0-9]+-[0-9]+/verdict.txt\n"));
}

}  // namespace
}  // namespace muster::testing
