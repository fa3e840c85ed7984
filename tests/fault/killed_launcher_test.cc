// `muster run` is killed, or the coordinator that it has started.

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fault/scenario.h"
#include "tests/util/wait_until.h"

namespace muster::testing {
namespace {

// Its arguments, each with a null byte behind it; empty of one that has ended.
std::string CommandLine(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/cmdline"));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Every process that has `argument` among its arguments.
std::set<pid_t> ProcessesWith(const std::string& argument) {
  std::set<pid_t> found;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = readdir(proc)) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(entry->d_name, &pid) && absl::StrContains(CommandLine(pid), argument)) {
      found.insert(pid);
    }
  }
  closedir(proc);
  return found;
}

bool AwaitNone(const std::string& argument) {
  return WaitUntil([&] { return ProcessesWith(argument).empty(); });
}

// A name that no other test's job has.
std::string UniqueJob() {
  static int count = 0;
  return absl::StrCat("killed-launcher-test-", getpid(), "-", ++count);
}

TEST(KilledLauncherTest, TakesItsRanksAndItsCoordinatorWithIt) {
  const std::string job = UniqueJob();
  // The job's name is among the ranks' arguments, too.
  auto run = Launch(3, {"barrier", absl::StrCat("wait=/nowhere/", job)}, {"--job=" + job});
  ASSERT_TRUE(AwaitBegin(*run, {0, 1, 2}, "wait"));
  ASSERT_GE(ProcessesWith(job).size(), 5u);  // launcher, coordinator, ranks
  run->Signal(SIGKILL);
  EXPECT_TRUE(AwaitNone(job));
}

TEST(KilledCoordinatorTest, IsStartedAgainByTheLauncherAndTheJobGoesOn) {
  const std::string job = UniqueJob();
  Gate gate;
  auto run = Launch(3, {"2:" + gate.wait(), "allgather", "barrier", "leave"}, {"--job=" + job});
  ASSERT_TRUE(AwaitBegin(*run, {0, 1}, "allgather"));
  ASSERT_TRUE(AwaitBegin(*run, {2}, "wait"));
  for (int kills = 1; kills <= 3; ++kills) {
    const std::set<pid_t> coordinator = ProcessesWith("--listen=127.0.0.1:");
    for (pid_t pid : coordinator) {
      if (absl::StrContains(CommandLine(pid), "--job=" + job)) kill(pid, SIGKILL);
    }
    ASSERT_TRUE(AwaitCount(*run, "; started again as pid", kills)) << run->Output();
  }
  gate.Open();
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
}

}  // namespace
}  // namespace muster::testing
