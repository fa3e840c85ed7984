// Tests of which processes ranks leave behind, and how they end.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/launcher/plan/leftover_finder.h"
#include "client/launcher/process/cleanup.h"
#include "client/launcher/process/process_tree.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/process/process.h"
#include "tests/util/process/wait_until.h"
#include "tests/util/process/wall_clock.h"

namespace muster::launcher {
namespace {

using muster::testing::MakeTempDir;
using muster::testing::WaitUntil;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr pid_t kSupervisor = 10;
constexpr pid_t kLiving = 20;
constexpr pid_t kEnded = 30;
constexpr pid_t kAlsoEnded = 40;

// Returns a process. It is in the supervisor's session unless `session` says otherwise.
ProcessInfo Process(pid_t pid, pid_t parent, pid_t group, pid_t session = 1) {
  return {pid, parent, group, session, /*started=*/7, absl::StrCat("p", pid)};
}

std::vector<pid_t> Pids(const std::vector<ProcessInfo>& processes) {
  std::vector<pid_t> pids;
  for (const ProcessInfo& process : processes) pids.push_back(process.pid);
  return pids;
}

Leftovers AllDescendants() { return {Descendants(getpid()), {}}; }

TEST(ProcessTreeTest, DescendantsHaveParentGroupSessionAndStart) {
  BecomeSubreaper();
  const auto shell = testing::Process::Start({"sh", "-c", "setsid sleep 1000 & wait"});
  ProcessInfo found;
  EXPECT_TRUE(WaitUntil([&] {
    for (const ProcessInfo& process : Descendants(getpid())) {
      if (process.name == "sleep") found = process;
    }
    return found.pid != 0;
  }));
  EXPECT_EQ(found.parent, shell->pid());
  EXPECT_EQ(found.group, found.pid);
  EXPECT_EQ(found.session, found.pid);
  EXPECT_GT(found.started, 0u);
  KillDescendants(AllDescendants);
}

TEST(ProcessTreeTest, DescendantsAreRecognizedByParentGroupAndSession) {
  const std::vector<ProcessInfo> processes = {
      Process(kLiving, kSupervisor, kLiving),
      Process(21, kSupervisor, kLiving),      // an orphan, in its group
      Process(23, 22, 23, 22),                // listed before its parent
      Process(22, kLiving, 22, 22),           // in its own session
      Process(24, kSupervisor, 24, 22),       // an orphan in that session
      Process(kEnded, kSupervisor, kEnded),   // another orphan
      Process(31, kSupervisor, kSupervisor),  // of no known rank
  };
  EXPECT_THAT(Pids(WithoutDescendantsOf({kLiving}, processes)), ElementsAre(kEnded, 31));
}

// ---- Which processes are leftovers ----

// A folder that stands in for /proc.
class LeftoverFinderTest : public ::testing::Test {
 protected:
  // Writes the environment of a process of the rank with this secret.
  void Describe(pid_t pid, const std::string& secret) {
    std::ofstream(File(pid)) << Environment(secret);
  }
  // Makes a read of the process's environment block until Release(), as if the process held its
  // memory map.
  void Hold(pid_t pid) { ASSERT_EQ(mkfifo(File(pid).c_str(), 0600), 0); }
  void Release(pid_t pid, const std::string& secret) {
    std::ofstream(File(pid)) << Environment(secret);
  }

  Leftovers Find(pid_t ended, const std::vector<ProcessInfo>& processes) {
    const LeftoverFinder::Ranks ranks = {{kLiving}, {kEnded, kAlsoEnded}};
    return finder_.Find(ended, absl::StrCat("secret-", ended), ranks, processes);
  }
  // Finds leftovers until no process is undecided.
  std::vector<pid_t> FindAll(pid_t ended, const std::vector<ProcessInfo>& processes) {
    Leftovers left;
    EXPECT_TRUE(WaitUntil([&] {
      left = Find(ended, processes);
      return left.undecided.empty();
    }));
    return Pids(left.processes);
  }

 private:
  std::string File(pid_t pid) {
    std::filesystem::create_directories(absl::StrCat(proc_, "/", pid));
    return absl::StrCat(proc_, "/", pid, "/environ");
  }
  static std::string Environment(const std::string& secret) {
    return absl::StrCat("A=b", std::string(1, '\0'), "MUSTER_PROCESS_SECRET=", secret,
                        std::string(1, '\0'), "C=", std::string(1, '\0'));
  }

  const std::string proc_ = MakeTempDir();
  LeftoverFinder finder_{proc_};
};

TEST_F(LeftoverFinderTest, FindsTheGroupAndInheritorsOfTheSecret) {
  Describe(51, "secret-30");
  Describe(52, "secret-20");
  Describe(53, "secret-40");
  const std::vector<ProcessInfo> processes = {
      Process(50, kSupervisor, kEnded),  // its environment is missing
      Process(51, kSupervisor, 51, 51), Process(52, kSupervisor, 52, 52),
      Process(53, kSupervisor, 53, 53), Process(54, kSupervisor, 54, 54)};
  EXPECT_THAT(FindAll(kEnded, processes), UnorderedElementsAre(50, 51));
  EXPECT_THAT(FindAll(kAlsoEnded, processes), UnorderedElementsAre(53));
}

TEST_F(LeftoverFinderTest, ReadsNoSecretsOfRecognizedProcesses) {
  const std::vector<ProcessInfo> processes = {
      Process(kLiving, kSupervisor, kLiving), Process(21, kLiving, kLiving),
      Process(22, kLiving, 22, 22), Process(31, kSupervisor, kEnded),
      Process(41, kSupervisor, kAlsoEnded)};
  for (const ProcessInfo& process : processes) Hold(process.pid);
  const Leftovers left = Find(kEnded, processes);
  EXPECT_THAT(Pids(left.processes), ElementsAre(31));
  EXPECT_THAT(left.undecided, IsEmpty());
}

TEST_F(LeftoverFinderTest, DoesNotBlockOnAHeldMemoryMap) {
  Hold(51);
  Describe(52, "secret-30");
  const std::vector<ProcessInfo> processes = {Process(51, kSupervisor, 51, 51),
                                              Process(52, kSupervisor, 52, 52)};
  Leftovers left;
  EXPECT_TRUE(WaitUntil([&] {
    left = Find(kEnded, processes);
    return left.undecided.size() == 1;
  }));
  EXPECT_THAT(Pids(left.undecided), ElementsAre(51));
  EXPECT_THAT(Pids(left.processes), ElementsAre(52));
  // The answer for another rank says the same of both processes, and nothing is read twice.
  EXPECT_THAT(Pids(Find(kAlsoEnded, processes).undecided), ElementsAre(51));
  Release(51, "secret-30");
  EXPECT_THAT(FindAll(kEnded, processes), UnorderedElementsAre(51, 52));
}

TEST_F(LeftoverFinderTest, DistinguishesReusedPids) {
  Describe(51, "secret-30");
  ProcessInfo process = Process(51, kSupervisor, 51, 51);
  EXPECT_THAT(FindAll(kEnded, {process}), ElementsAre(51));
  Describe(51, "secret-20");
  EXPECT_THAT(FindAll(kEnded, {process}), ElementsAre(51)) << "what was read once stays known";
  ++process.started;
  EXPECT_THAT(FindAll(kEnded, {process}), IsEmpty());
}

// ---- How leftovers end ----

TEST(CleanupTest, WaitsForUndecidedProcessesThenNamesThem) {
  const absl::Time begin;
  std::vector<std::string> messages;
  Leftovers left = {{}, {Process(51, kSupervisor, 51)}};
  Cleanup cleanup([&] { return left; }, [&](const std::string& text) { messages.push_back(text); },
                  /*grace=*/absl::Hours(1), begin);
  EXPECT_FALSE(cleanup.Step(begin));
  left.undecided.push_back(Process(52, kSupervisor, 52));  // later, with a grace of its own
  EXPECT_FALSE(cleanup.Step(begin + absl::Seconds(1)));
  EXPECT_FALSE(cleanup.Step(begin + absl::Seconds(2)));
  ASSERT_THAT(
      messages,
      ElementsAre(HasSubstr("cannot tell whether a rank left p51 (pid 51) in the background")));
  left.undecided.pop_back();
  EXPECT_TRUE(cleanup.Step(begin + absl::Seconds(2)));
  EXPECT_THAT(messages, SizeIs(1)) << "it is said once";
}

TEST(KillDescendantsTest, AWallClockJumpSparesNoProcess) {
  BecomeSubreaper();
  const auto sleeper = testing::Process::Start({"sleep", "1000"});
  const testing::JumpingWallClock clock;
  KillDescendants(AllDescendants);
  EXPECT_NE(kill(sleeper->pid(), 0), 0);
}

TEST(KillDescendantsTest, RepeatsForUndecidedProcesses) {
  BecomeSubreaper();
  const auto sleeper = testing::Process::Start({"sleep", "1000"});
  bool decided = false;
  KillDescendants([&] {
    const std::vector<ProcessInfo> all = Descendants(getpid());
    return std::exchange(decided, true) ? Leftovers{all, {}} : Leftovers{{}, all};
  });
  EXPECT_NE(kill(sleeper->pid(), 0), 0);
}

}  // namespace
}  // namespace muster::launcher
