// Tests of programs that launch their own ranks: several machines, signals, and no orphans.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Program(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {Runfile("tests/client/launch/launching")};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

// Returns a port below the kernel's ephemeral ports, so that no other process gets it before the
// coordinator does.
int FreePort() {
  std::random_device random;
  while (true) {
    const int port = std::uniform_int_distribution<int>(10000, 29999)(random);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    const bool is_free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(fd);
    if (is_free) return port;
  }
}

// Returns the state as ps(1) shows it, or X if there is no such process.
char StateOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string stat;
  if (!std::getline(file, stat)) return 'X';
  const size_t name_end = stat.rfind(')');
  return name_end == std::string::npos ? 'X' : stat[name_end + 2];
}

bool Stopped(pid_t pid) { return StateOf(pid) == 'T'; }

// A zombie counts as ended. An orphan's new parent may reap it late.
bool Lives(pid_t pid) { return StateOf(pid) != 'Z' && StateOf(pid) != 'X'; }

bool WaitUntilDead(const std::vector<pid_t>& pids) {
  return WaitUntil([&] { return std::none_of(pids.begin(), pids.end(), Lives); });
}

class WaitingProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* rank : {"rank 0 pid", "rank 1 pid"}) {
      ASSERT_TRUE(program_->WaitForOutput(rank));
    }
    for (const absl::string_view line : absl::StrSplit(program_->Output(), '\n')) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      if (words.back() != "ready") continue;
      pid_t pid = 0;
      for (const int place : {3, 5}) {
        ASSERT_TRUE(absl::SimpleAtoi(words[place], &pid));
        pids_.push_back(pid);
      }
      ASSERT_TRUE(absl::SimpleAtoi(words[7], &supervisor_));
    }
    ASSERT_EQ(pids_.size(), 4);
  }

  std::unique_ptr<Process> program_ =
      Process::Start(Program({"wait", "2"}), {{"MUSTER_MUSTERD", MusterdPath()}});
  std::vector<pid_t> pids_;  // of the ranks and of the processes that they have started
  pid_t supervisor_ = 0;
};

TEST_F(WaitingProgramTest, SignalsArePassedOnAndThenDelivered) {
  program_->Signal(SIGINT);
  EXPECT_EQ(program_->Wait(), (Exit{true, SIGINT}));
  EXPECT_TRUE(WaitUntilDead(pids_));
}

TEST_F(WaitingProgramTest, CtrlZStopsTheRanksUntilTheProgramGoesOn) {
  const std::vector<pid_t> all = {program_->pid(), pids_[0], pids_[2]};
  program_->Signal(SIGTSTP);
  EXPECT_TRUE(WaitUntil([&] { return std::all_of(all.begin(), all.end(), Stopped); }));
  program_->Signal(SIGCONT);
  EXPECT_TRUE(WaitUntil([&] { return std::none_of(all.begin(), all.end(), Stopped); }));
  EXPECT_TRUE(program_->Running());
}

TEST_F(WaitingProgramTest, NothingOutlivesAKilledProgram) {
  program_->Signal(SIGKILL);
  program_->Wait();
  EXPECT_TRUE(WaitUntilDead(pids_));
  EXPECT_TRUE(WaitUntilDead({supervisor_}));
}

TEST_F(WaitingProgramTest, NothingOutlivesAKilledProcessGroup) {
  kill(-program_->pid(), SIGKILL);
  program_->Wait();
  EXPECT_TRUE(WaitUntilDead(pids_));
}

TEST_F(WaitingProgramTest, RanksDieWithTheirSupervisor) {
  kill(supervisor_, SIGKILL);
  EXPECT_EQ(program_->Wait(), (Exit{false, 3}));
  EXPECT_THAT(program_->Output(), HasSubstr("launched: ABORTED: the process that supervised"));
  EXPECT_TRUE(WaitUntilDead({pids_[0], pids_[2]}));
  for (const pid_t pid : pids_) kill(pid, SIGKILL);
}

TEST_F(WaitingProgramTest, AKilledRankEndsTheOthersAndTheirChildren) {
  kill(pids_[0], SIGKILL);
  EXPECT_EQ(program_->Wait(), (Exit{false, 3}));
  EXPECT_THAT(program_->Output(), HasSubstr("2 of 2 processes failed"));
  EXPECT_TRUE(WaitUntilDead(pids_));
}

TEST(LaunchingProgramTest, AnInterruptCountsEvenIfAShellIgnoresIt) {
  const std::vector<std::string> program = Program({"wait", "1"});
  const auto running = Process::Start({"sh", "-c", "trap '' INT; exec \"$0\" wait 1", program[0]},
                                      {{"MUSTER_MUSTERD", MusterdPath()}});
  ASSERT_TRUE(running->WaitForOutput("ready"));
  running->Signal(SIGINT);
  EXPECT_EQ(running->Wait(), (Exit{false, 3}));
  EXPECT_THAT(running->Output(), HasSubstr("was killed by signal 2 (SIGINT)"));
}

// The first machine hosts the coordinator. It has no ranks left when its only rank is lost.
TEST(LaunchingProgramTest, AFailureOnOneMachineEndsRanksThatMakeNoCallsOnTheOther) {
  const std::string coordinator = absl::StrCat("127.0.0.1:", FreePort());
  std::vector<std::unique_ptr<Process>> machines;
  for (const char* node : {"0", "1"}) {
    machines.push_back(Process::Start(
        Program({"wait", "1", "2", node, coordinator}),
        {{"MUSTER_MUSTERD", MusterdPath()}, {"MUSTER_NODE_ID", absl::StrCat("node-", node)}}));
  }
  for (auto& machine : machines) ASSERT_TRUE(machine->WaitForOutput("ready"));
  const std::vector<std::string> words = absl::StrSplit(machines[0]->Output(), ' ');
  pid_t rank = 0;
  ASSERT_TRUE(absl::SimpleAtoi(words.at(3), &rank));
  kill(rank, SIGKILL);
  EXPECT_EQ(machines[0]->Wait(), (Exit{false, 3}));
  EXPECT_EQ(machines[1]->Wait(), (Exit{false, 3}));
  EXPECT_THAT(machines[1]->Output(), HasSubstr("the job has failed; ending rank 1: "));
}

TEST(LaunchingProgramTest, TwoMachinesOfTwo) {
  const std::string coordinator = absl::StrCat("127.0.0.1:", FreePort());
  std::vector<std::unique_ptr<Process>> machines;
  for (const char* node : {"1", "0"}) {
    machines.push_back(Process::Start(
        Program({"meet", "2", "2", node, coordinator}),
        {{"MUSTER_MUSTERD", MusterdPath()}, {"MUSTER_NODE_ID", absl::StrCat("node-", node)}}));
  }
  for (auto& machine : machines) {
    EXPECT_EQ(machine->Wait(), (Exit{false, 0})) << machine->Output();
  }
  EXPECT_THAT(machines[1]->Output(), HasSubstr("rank 0 met 0:0.0 1:0.1 2:1.0 3:1.1"));
  EXPECT_THAT(machines[0]->Output(), HasSubstr("rank 3 met 0:0.0 1:0.1 2:1.0 3:1.1"));
}

TEST(LaunchingProgramTest, OutputIsWrittenOnce) {
  auto program = Process::Start(Program({"meet", "2"}), {{"MUSTER_MUSTERD", MusterdPath()}});
  EXPECT_EQ(program->Wait(), (Exit{false, 0}));
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(program->Output(), "launched: OK")),
              ::testing::SizeIs(2));
}

}  // namespace
}  // namespace muster::testing
