// Tests with real processes that get their ranks from the variables of other launchers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Environment = std::map<std::string, std::string>;

struct Launcher {
  const char* name;
  // Returns what the launcher sets for one process of `size`, with two processes on each node.
  std::function<Environment(int rank, int size)> variables;
};

std::vector<Launcher> Launchers() {
  const auto text = [](int number) { return absl::StrCat(number); };
  return {
      {"torchrun",
       [=](int rank, int size) {
         return Environment{{"RANK", text(rank)},
                            {"WORLD_SIZE", text(size)},
                            {"LOCAL_RANK", text(rank % 2)},
                            {"GROUP_RANK", text(rank / 2)},
                            {"MUSTER_NODE_ID", absl::StrCat("n", rank / 2)}};
       }},
      {"torchrun on nodes of Slurm",
       [=](int rank, int size) {
         return Environment{{"RANK", text(rank)},
                            {"WORLD_SIZE", text(size)},
                            {"SLURM_JOB_ID", "7"},
                            {"SLURM_STEP_ID", "0"},
                            {"SLURM_STEP_NUM_TASKS", text((size + 1) / 2)},
                            {"SLURM_PROCID", text(size == 1 ? 0 : rank / 2)}};
       }},
      {"Slurm",
       [=](int rank, int size) {
         return Environment{{"SLURM_JOB_ID", "7"},
                            {"SLURM_STEP_ID", "0"},
                            {"SLURM_STEP_NUM_TASKS", text(size)},
                            {"SLURM_PROCID", text(rank)},
                            {"SLURM_LOCALID", text(rank % 2)},
                            {"SLURM_NODEID", text(rank / 2)},
                            {"SLURMD_NODENAME", absl::StrCat("n", rank / 2)}};
       }},
      {"Open MPI",
       [=](int rank, int size) {
         return Environment{{"OMPI_COMM_WORLD_RANK", text(rank)},
                            {"OMPI_COMM_WORLD_SIZE", text(size)},
                            {"PMIX_RANK", text(rank)}};
       }},
      {"PMI",
       [=](int rank, int size) {
         return Environment{{"PMI_RANK", text(rank)}, {"PMI_SIZE", text(size)}};
       }},
      {"Kubernetes",
       [=](int rank, int size) {
         return Environment{{"JOB_COMPLETION_INDEX", text(rank)},
                            {"MUSTER_WORLD_SIZE", text(size)}};
       }},
  };
}

Args Program() { return RankCommand({"primitives", "place", "leave"}); }

TEST(LaunchersTest, EveryProcessGetsItsLaunchersRank) {
  for (const Launcher& launcher : Launchers()) {
    for (const int size : {1, 2, 4}) {
      SCOPED_TRACE(absl::StrCat(launcher.name, ", ", size, " processes"));
      const auto daemon = TestDaemon::Start();
      std::vector<std::unique_ptr<Process>> ranks;
      // Starts the last rank first, so that the order of arrival gives other ranks than the
      // variables.
      for (int rank = size - 1; rank >= 0; --rank) {
        Environment environment = launcher.variables(rank, size);
        environment["MUSTER_COORDINATOR"] = daemon->address();
        environment["MUSTER_JOB"] =
            "default";  // musterd does not run under Slurm and knows no other name
        ranks.push_back(Process::Start(Program(), environment));
      }
      for (int rank = size - 1; rank >= 0; --rank) {
        Process& process = *ranks[size - 1 - rank];
        EXPECT_EQ(process.Wait(), kSuccess) << process.Output();
        EXPECT_THAT(process.Output(), HasSubstr(absl::StrCat("rank ", rank, " of ", size, ", ")));
      }
    }
  }
}

TEST(LaunchersTest, ContradictionsAndMissingCoordinatorsEndAProcessAtOnce) {
  auto contradicted = Process::Start(Program(), {{"MUSTER_COORDINATOR", "127.0.0.1:1"},
                                                 {"MUSTER_RANK", "1"},
                                                 {"RANK", "2"},
                                                 {"WORLD_SIZE", "4"}});
  EXPECT_EQ(contradicted->Wait(), kRankError);
  EXPECT_THAT(contradicted->Output(), HasSubstr("MUSTER_RANK is 1 but RANK is 2"));
  auto alone =
      Process::Start(Program(), {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  EXPECT_EQ(alone->Wait(), kRankError);
  EXPECT_THAT(alone->Output(),
              AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("OMPI_COMM_WORLD_SIZE says"),
                    HasSubstr("MUSTER_COORDINATOR is not set")));
}

}  // namespace
}  // namespace muster::testing
