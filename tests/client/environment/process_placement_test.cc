// Tests of the place that each launcher's variables give a process.

#include "client/src/environment/process_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/src/environment/read_job_options.h"

namespace muster::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns "rank/world size/local rank/node rank", with "-" for what is not set, and "@node id" if
// that is set.
std::string Place(const Variables& variables) {
  const absl::StatusOr<Placement> placement = ReadPlacement(variables);
  if (!placement.ok()) return placement.status().ToString();
  std::string text;
  for (const auto* told :
       {&placement->rank, &placement->world_size, &placement->local_rank, &placement->node_rank}) {
    if (!text.empty()) text += "/";
    text += *told ? std::to_string((*told)->value) : "-";
  }
  return placement->node_id.empty() ? text : text + "@" + placement->node_id;
}

Variables With(Variables base, const Variables& added) {
  for (const auto& [name, value] : added) base[name] = value;
  return base;
}

const Variables kTorchrun = {
    {"RANK", "5"},       {"WORLD_SIZE", "8"},   {"LOCAL_RANK", "1"},     {"LOCAL_WORLD_SIZE", "4"},
    {"GROUP_RANK", "1"}, {"MASTER_ADDR", "n0"}, {"MASTER_PORT", "29500"}};
const Variables kSlurm = {{"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "0"},
                          {"SLURM_PROCID", "5"},  {"SLURM_STEP_NUM_TASKS", "8"},
                          {"SLURM_NTASKS", "64"}, {"SLURM_LOCALID", "1"},
                          {"SLURM_NODEID", "1"},  {"SLURMD_NODENAME", "n1"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "5"},
                            {"OMPI_COMM_WORLD_SIZE", "8"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_NODE_RANK", "1"},
                            {"PMIX_RANK", "5"}};
const Variables kHydra = {{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "1"}};

TEST(PlacementTest, WithoutVariablesThePlacementIsEmpty) { EXPECT_EQ(Place({}), "-/-/-/-"); }

TEST(PlacementTest, EachLauncher) {
  EXPECT_EQ(Place({{"MUSTER_RANK", "3"},
                   {"MUSTER_WORLD_SIZE", "4"},
                   {"MUSTER_LOCAL_RANK", "1"},
                   {"MUSTER_NODE_RANK", "1"},
                   {"MUSTER_NODE_ID", "a"}}),
            "3/4/1/1@a");
  EXPECT_EQ(Place(kTorchrun), "5/8/1/1");
  EXPECT_EQ(Place(kSlurm), "5/8/1/1@n1");
  EXPECT_EQ(Place(kOpenMpi), "5/8/1/-");
  EXPECT_EQ(Place(kHydra), "5/8/1/-");
  EXPECT_EQ(Place({{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"PMI_LOCAL_RANK", "0"}}), "2/4/0/-");
  EXPECT_EQ(Place({{"PMIX_RANK", "2"}}), "2/-/-/-");
  EXPECT_EQ(Place({{"JOB_COMPLETION_INDEX", "2"}}), "2/-/-/-");
}

TEST(PlacementTest, SlurmWithoutStepVariables) {
  EXPECT_EQ(Place({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}), "1/2/-/-");
  EXPECT_EQ(Place({{"SLURM_PROCID", "1"}, {"SLURM_NPROCS", "2"}}), "1/2/-/-");
}

TEST(PlacementTest, ABatchScriptIsNoTask) {
  EXPECT_EQ(Place({{"SLURM_JOB_ID", "77"},
                   {"SLURM_PROCID", "0"},
                   {"SLURM_NTASKS", "8"},
                   {"SLURM_LOCALID", "0"},
                   {"SLURMD_NODENAME", "n0"}}),
            "-/-/-/-");
}

TEST(PlacementTest, EarlierLaunchersWin) {
  EXPECT_EQ(Place(With(kSlurm, {{"MUSTER_WORLD_SIZE", "8"}, {"MUSTER_NODE_ID", "mine"}})),
            "5/8/1/1@mine");
  EXPECT_EQ(Place(With(kOpenMpi, {{"MUSTER_NODE_RANK", "1"}})), "5/8/1/1");
  EXPECT_EQ(Place({{"JOB_COMPLETION_INDEX", "2"}, {"MUSTER_WORLD_SIZE", "4"}}), "2/4/-/-");
}

TEST(PlacementTest, AgreeingLaunchersAreFine) {
  Variables all = kTorchrun;
  for (const Variables& one : {kSlurm, kOpenMpi, kHydra}) all = With(all, one);
  EXPECT_EQ(Place(all), "5/8/1/1@n1");
}

// srun starts one torchrun, or one daemon of mpirun, on each node.
TEST(PlacementTest, AnOuterLauncherIsIgnored) {
  const Variables one_per_node = {{"SLURM_JOB_ID", "77"},        {"SLURM_STEP_ID", "0"},
                                  {"SLURM_PROCID", "1"},         {"SLURM_NTASKS", "2"},
                                  {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_LOCALID", "0"},
                                  {"SLURM_NODEID", "1"},         {"SLURMD_NODENAME", "n1"}};
  EXPECT_EQ(Place(With(kTorchrun, one_per_node)), "5/8/1/1");
  EXPECT_EQ(Place(With(kOpenMpi, one_per_node)), "5/8/1/-");
  EXPECT_EQ(Place(With(kTorchrun, {{"OMPI_COMM_WORLD_RANK", "1"},
                                   {"OMPI_COMM_WORLD_SIZE", "2"},
                                   {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                   {"PMIX_RANK", "1"}})),
            "5/8/1/1");
}

TEST(PlacementTest, APodThatRunsSeveralProcessesIsANode) {
  EXPECT_EQ(Place(With(kTorchrun, {{"JOB_COMPLETION_INDEX", "1"}})), "5/8/1/1");
  EXPECT_EQ(Place({{"MUSTER_LOCAL_RANK", "3"}, {"JOB_COMPLETION_INDEX", "1"}}), "-/-/3/1");
}

TEST(PlacementTest, KubeflowsAndLeaderWorkerSetsPodsAreRanksOrNodes) {
  const Variables kubeflow = {{"PET_NNODES", "4"}, {"PET_NODE_RANK", "2"}};
  EXPECT_EQ(Place(kubeflow), "2/4/-/-");
  EXPECT_EQ(Place(With(kubeflow, {{"JOB_COMPLETION_INDEX", "2"}})), "2/4/-/-");
  EXPECT_EQ(Place(With(kubeflow, {{"PET_NPROC_PER_NODE", "8"}})), "-/-/-/2");
  EXPECT_EQ(Place(With(kubeflow, {{"PET_NNODES", "2:4"}})), "2/-/-/-") << "an elastic job's";
  EXPECT_EQ(Place(With(kTorchrun, With(kubeflow, {{"PET_NPROC_PER_NODE", "auto"}}))), "5/8/1/1");
  const Variables group = {{"LWS_GROUP_SIZE", "3"}, {"LWS_WORKER_INDEX", "1"}};
  EXPECT_EQ(Place(group), "1/3/-/-");
  EXPECT_EQ(Place(With(group, {{"MUSTER_LOCAL_RANK", "0"}})), "-/-/0/1");
  EXPECT_THAT(Place(With(group, {{"LWS_WORKER_INDEX", "one"}})), HasSubstr("LWS_WORKER_INDEX"));
}

// In an elastic job, `muster run` sets torchrun's variables for programs that read them. Its own
// variables leave rank and world size to the coordinator.
TEST(PlacementTest, AMusterLauncherGivesTheWholePlacement) {
  const Variables elastic = {{"MUSTER_PROCESS_SECRET", std::string(32, 'a')},
                             {"MUSTER_LOCAL_RANK", "1"},
                             {"MUSTER_NODE_RANK", "0"}};
  EXPECT_EQ(Place(With(elastic, kTorchrun)), "-/-/1/0");
  EXPECT_EQ(Place(With(elastic, {{"JOB_COMPLETION_INDEX", "1"}})), "-/-/1/0");
  const Variables fixed = With(elastic, {{"MUSTER_RANK", "1"}, {"MUSTER_WORLD_SIZE", "2"}});
  EXPECT_EQ(Place(With(fixed, With(kTorchrun, {{"RANK", "1"}, {"WORLD_SIZE", "2"}}))), "1/2/1/0");
  EXPECT_EQ(Place(With(fixed, kSlurm)), "1/2/1/0");
}

void ExpectContradiction(const Variables& variables, const std::string& first,
                         const std::string& second) {
  const absl::Status status = ReadPlacement(variables).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(first + " but " + second));
}

TEST(PlacementTest, ContradictionsAreNamedWithBothVariables) {
  ExpectContradiction({{"MUSTER_RANK", "1"}, {"RANK", "2"}}, "MUSTER_RANK is 1", "RANK is 2");
  ExpectContradiction({{"MUSTER_WORLD_SIZE", "4"}, {"WORLD_SIZE", "8"}}, "MUSTER_WORLD_SIZE is 4",
                      "WORLD_SIZE is 8");
  ExpectContradiction(With(kTorchrun, {{"MUSTER_LOCAL_RANK", "0"}}), "MUSTER_LOCAL_RANK is 0",
                      "LOCAL_RANK is 1");
  ExpectContradiction(With(kSlurm, {{"MUSTER_RANK", "4"}}), "MUSTER_RANK is 4",
                      "SLURM_PROCID is 5");
  ExpectContradiction(With(kSlurm, With(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "6"}})),
                      "SLURM_PROCID is 5", "OMPI_COMM_WORLD_RANK is 6");
  ExpectContradiction(With(kSlurm, {{"MUSTER_WORLD_SIZE", "2"}}), "MUSTER_WORLD_SIZE is 2",
                      "SLURM_STEP_NUM_TASKS is 8");
  ExpectContradiction(With(kTorchrun, {{"RANK", "8"}}), "RANK is 8", "WORLD_SIZE is 8");
}

TEST(PlacementTest, MalformedVariablesAreNamed) {
  for (const char* variable : {"RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_LOCALID",
                               "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "JOB_COMPLETION_INDEX"}) {
    const absl::Status status = ReadPlacement({{variable, "x1"}}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << variable;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(variable) + " is 'x1'"));
  }
}

TEST(ReadJobOptionsTest, APlaceAmongSeveralNeedsACoordinator) {
  for (const Variables& variables :
       {kTorchrun, kSlurm, kOpenMpi, kHydra, Variables{{"PMIX_RANK", "1"}},
        Variables{{"JOB_COMPLETION_INDEX", "1"}}}) {
    const absl::Status alone = ReadJobOptions(variables).status();
    EXPECT_EQ(alone.code(), absl::StatusCode::kFailedPrecondition) << alone;
    EXPECT_THAT(std::string(alone.message()),
                AllOf(HasSubstr(" says that "), HasSubstr("MUSTER_COORDINATOR is not set")));
    EXPECT_TRUE(ReadJobOptions(With(variables, {{"MUSTER_COORDINATOR", "n0:7370"}})).ok());
  }
}

TEST(ReadJobOptionsTest, FillsThePlace) {
  const auto options = ReadJobOptions(With(kSlurm, {{"MUSTER_COORDINATOR", "n0:7370"}}));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->rank, 5);
  EXPECT_EQ(options->world_size, 8);
  EXPECT_EQ(options->local_rank, 1);
  EXPECT_EQ(options->node_rank, 1);
  EXPECT_EQ(options->node_id, "n1");
  EXPECT_EQ(options->job, "slurm-77-0");
}

TEST(ReadJobOptionsTest, OneTaskAloneIsSerialMode) {
  const auto options = ReadJobOptions({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->coordinator, "");
}

TEST(RankFromEnvironmentTest, IsEmptyIfUnknown) {
  for (const char* name : {"MUSTER_RANK", "RANK", "LOCAL_RANK", "SLURM_PROCID"}) unsetenv(name);
  EXPECT_EQ(RankFromEnvironment(), std::nullopt);
  EXPECT_EQ(LocalRankFromEnvironment(), std::nullopt);
  setenv("RANK", "3", 1);
  setenv("LOCAL_RANK", "1", 1);
  EXPECT_EQ(RankFromEnvironment(), 3);
  EXPECT_EQ(LocalRankFromEnvironment(), 1);
  setenv("MUSTER_RANK", "2", 1);
  EXPECT_EQ(RankFromEnvironment(), std::nullopt);
}

}  // namespace
}  // namespace muster::internal
