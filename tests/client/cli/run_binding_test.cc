// Tests of `muster run --bind-to` with real ranks, on the CPUs that this machine has.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/process/cpu_affinity.h"
#include "common/text/number_ranges.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/muster_command.h"

namespace muster::cli {
namespace {

using muster::testing::Exit;
using muster::testing::MakeTempDir;
using muster::testing::Runfile;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr Exit kSuccess = {false, 0};
constexpr char kPrintCpus[] = "grep Cpus_allowed_list /proc/self/status";

class RunBindingTest : public ::testing::Test {
 protected:
  // Runs ranks with a shell script, and with claims of cores that other tests do not see.
  std::unique_ptr<MusterCommand> Start(const std::vector<std::string>& flags,
                                       const std::string& script) const {
    return std::make_unique<MusterCommand>(
        RunShell(flags, script),
        std::map<std::string, std::string>{{"MUSTER_RUNTIME_DIR", folder_}});
  }

  // Returns the CPUs that the ranks have printed, in the order of their lines.
  static std::vector<std::vector<int>> PrintedCpus(const std::string& output) {
    std::vector<std::vector<int>> found;
    for (const absl::string_view line : absl::StrSplit(output, '\n')) {
      const std::vector<std::string> parts = absl::StrSplit(line, "Cpus_allowed_list:\t");
      if (parts.size() == 2) found.push_back(ParseNumberRanges(parts[1]));
    }
    return found;
  }

  // Returns how many ranks can have a core each, at most two.
  static int Ranks() { return static_cast<int>(std::min<size_t>(2, Cores())); }

  const std::string folder_ = MakeTempDir();
  const std::vector<int> own_ = CpusOf(getpid());

 private:
  static size_t Cores() {
    std::set<std::string> cores;
    for (const int cpu : CpusOf(getpid())) {
      const std::string siblings = ReadFile(
          absl::StrCat("/sys/devices/system/cpu/cpu", cpu, "/topology/thread_siblings_list"));
      cores.insert(siblings.empty() ? absl::StrCat(cpu) : siblings);
    }
    return cores.size();
  }
};

TEST_F(RunBindingTest, BindsNoRankByDefault) {
  const auto run = Start({"--nproc-per-node", "2"}, absl::StrCat(kPrintCpus, "; env"));
  EXPECT_EQ(run->process().Wait(), kSuccess);
  EXPECT_EQ(PrintedCpus(run->process().Output()), (std::vector<std::vector<int>>{own_, own_}));
  EXPECT_THAT(run->process().Output(), Not(HasSubstr("MUSTER_BIND_TO")));
}

TEST_F(RunBindingTest, GivesEachRankACoreOfItsOwn) {
  const auto run = Start({"--nproc-per-node", absl::StrCat(Ranks()), "--bind-to=core"},
                         absl::StrCat(kPrintCpus, "; echo bound to $MUSTER_BIND_TO"));
  EXPECT_EQ(run->process().Wait(), kSuccess);
  const std::string output = run->process().Output();
  const std::vector<std::vector<int>> cpus = PrintedCpus(output);
  ASSERT_THAT(cpus, SizeIs(Ranks()));
  std::set<int> all;
  size_t count = 0;
  for (const std::vector<int>& of_rank : cpus) {
    for (const int cpu : of_rank) EXPECT_THAT(own_, Contains(cpu));
    all.insert(of_rank.begin(), of_rank.end());
    count += of_rank.size();
    EXPECT_THAT(output, HasSubstr(NumberRanges(of_rank))) << "in the launcher's line";
  }
  EXPECT_EQ(all.size(), count) << "no CPU is for two ranks";
  EXPECT_THAT(output, HasSubstr("muster: bound rank 0 to CPU"));
  EXPECT_THAT(output, HasSubstr("bound to core"));
}

TEST_F(RunBindingTest, ARestartedRankHasTheSameCore) {
  // The ranks fail when all have printed their CPUs.
  const std::string last = absl::StrCat(Ranks() - 1);
  const auto run = Start({"--nproc-per-node", absl::StrCat(Ranks()), "--bind-to=core",
                          "--max-restarts=1", "--restart=group", "--no-prefix"},
                         absl::StrCat("echo $MUSTER_LOCAL_RANK $(", kPrintCpus, "); cd ", folder_,
                                      "; [ $MUSTER_RESTART_COUNT = 1 ] && exit 0; "
                                      "touch rank-$MUSTER_LOCAL_RANK; until [ -e rank-0 ] && "
                                      "[ -e rank-",
                                      last, " ]; do sleep 0.01; done; exit 1"));
  EXPECT_EQ(run->process().Wait(), kSuccess);
  std::multiset<std::string> lines;
  for (const std::string& line : SortedLines(run->process().Output())) {
    if (absl::StrContains(line, "Cpus_allowed_list")) lines.insert(line);
  }
  EXPECT_THAT(lines, SizeIs(2 * Ranks()));
  for (const std::string& line : lines) EXPECT_EQ(lines.count(line), 2) << line;
}

TEST_F(RunBindingTest, RefusesMoreRanksThanCoresAndStartsNone) {
  const auto run = Start({"--nproc-per-node", "4000", "--bind-to=core"}, "echo started");
  EXPECT_EQ(run->process().Wait(), (Exit{false, 64}));
  EXPECT_THAT(run->process().Output(), HasSubstr("muster: --bind-to is 'core', and this node has"));
  EXPECT_THAT(run->process().Output(), HasSubstr("for 4000 ranks; start fewer ranks"));
  EXPECT_THAT(run->process().Output(), Not(HasSubstr("started")));
}

TEST_F(RunBindingTest, TwoLaunchersOfOneMachineTakeDifferentCores) {
  if (Ranks() < 2) GTEST_SKIP() << "this machine has one core";
  const std::string script = absl::StrCat(kPrintCpus, "; exec sleep 1000");
  const auto first = Start({"--bind-to=core"}, script);
  ASSERT_TRUE(first->process().WaitForOutput("Cpus_allowed_list"));
  const auto second = Start({"--bind-to=core"}, kPrintCpus);
  EXPECT_EQ(second->process().Wait(), kSuccess);
  const auto of_first = PrintedCpus(first->process().Output());
  const auto of_second = PrintedCpus(second->process().Output());
  ASSERT_THAT(of_first, SizeIs(1));
  ASSERT_THAT(of_second, SizeIs(1));
  for (const int cpu : of_first[0]) EXPECT_THAT(of_second[0], Not(Contains(cpu)));
}

TEST_F(RunBindingTest, SaysThatOtherRunsHaveTheCores) {
  const auto first = Start({"--bind-to=core", "--nproc-per-node=1"},
                           absl::StrCat(kPrintCpus, "; exec sleep 1000"));
  ASSERT_TRUE(first->process().WaitForOutput("Cpus_allowed_list"));
  const std::string cpus = NumberRanges(PrintedCpus(first->process().Output()).at(0));
  // taskset leaves the second launcher only the first one's core.
  const auto second = MusterCommand::Wrapped(
      {"sh", "-c", absl::StrCat("exec taskset -c ", cpus, " $MUSTER run --bind-to=core -- true")},
      {{"MUSTER_RUNTIME_DIR", folder_}});
  EXPECT_EQ(second->process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(second->process().Output(),
              HasSubstr("this node has 0 cores that no other muster run of yours is bound to for 1 "
                        "rank"));
}

TEST_F(RunBindingTest, NumaGivesAllCpusOfANode) {
  const auto run = Start({"--nproc-per-node", "1", "--bind-to", "numa"}, kPrintCpus);
  EXPECT_EQ(run->process().Wait(), kSuccess);
  const auto cpus = PrintedCpus(run->process().Output());
  ASSERT_THAT(cpus, SizeIs(1));
  for (const int cpu : cpus[0]) EXPECT_THAT(own_, Contains(cpu));
  EXPECT_FALSE(cpus[0].empty());
}

TEST_F(RunBindingTest, BindsNearTheGpu) {
  const int last = own_.back();
  const auto run = std::make_unique<MusterCommand>(
      RunShell({"--bind-to=core"}, kPrintCpus),
      std::map<std::string, std::string>{
          {"MUSTER_RUNTIME_DIR", folder_},
          {"LD_LIBRARY_PATH", std::filesystem::absolute(Runfile("tests/nccl/cuda/lib"))},
          {"FAKE_CUDA_DEVICES", "1"},
          {"FAKE_NVML_CPUS", absl::StrCat(last, "-", last)}});
  EXPECT_EQ(run->process().Wait(), kSuccess);
  const auto cpus = PrintedCpus(run->process().Output());
  ASSERT_THAT(cpus, SizeIs(1));
  EXPECT_THAT(cpus[0], Contains(last));
}

TEST_F(RunBindingTest, SaysThatHwlocIsMissing) {
  std::ofstream(folder_ + "/libhwloc.so.15");  // no library
  const auto run = std::make_unique<MusterCommand>(
      RunShell({"--bind-to=numa"}, "echo started"),
      std::map<std::string, std::string>{{"LD_LIBRARY_PATH", folder_}});
  EXPECT_EQ(run->process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(run->process().Output(),
              HasSubstr("muster: --bind-to: the ranks of this node cannot be bound: "));
  EXPECT_THAT(run->process().Output(), HasSubstr("install hwloc (Debian's package libhwloc15)"));
  EXPECT_THAT(run->process().Output(), Not(HasSubstr("started")));
}

TEST_F(RunBindingTest, RejectsOtherTargets) {
  const auto run = Start({"--bind-to=socket"}, "true");
  EXPECT_EQ(run->process().Wait(), (Exit{false, 64}));
  EXPECT_THAT(run->process().Output(),
              HasSubstr("--bind-to is 'socket'; expected none, core or numa"));
}

}  // namespace
}  // namespace muster::cli
