// Tests of what the flags and variables of `muster run` mean, and of the errors for wrong ones.
#include "client/cli/run/launch_plan.h"

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;

RunFlags Flags() {
  RunFlags flags;
  flags.program = {"./train", "--epochs", "3"};
  return flags;
}

RunFlags MultiNodeFlags() {
  RunFlags flags = Flags();
  flags.nproc_per_node = "8";
  flags.nnodes = "3";
  flags.node_rank = "2";
  flags.coordinator = "head:7370";
  return flags;
}

constexpr Machine kNoGpu = {0, 12};

LaunchPlan Plan(const RunFlags& flags, const Machine& machine = kNoGpu) {
  absl::StatusOr<LaunchPlan> plan = MakeLaunchPlan(flags, "run-1", machine);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *plan : LaunchPlan{};
}

std::string Refusal(const RunFlags& flags, const Machine& machine = kNoGpu) {
  const absl::StatusOr<LaunchPlan> plan = MakeLaunchPlan(flags, "run-1", machine);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(plan.status().message());
}

TEST(LaunchPlanTest, StandaloneDefaults) {
  const LaunchPlan plan = Plan(Flags());
  EXPECT_EQ(plan.job.world_size(), 1);
  EXPECT_EQ(plan.job.GlobalRank(0), 0);
  EXPECT_EQ(plan.job.job, "run-1");
  EXPECT_FALSE(plan.coordinator_given);
  EXPECT_TRUE(plan.prefix);
  EXPECT_EQ(plan.job.grace, absl::Seconds(10));
  EXPECT_EQ(plan.job.failure_wait, absl::Seconds(5));
  EXPECT_EQ(plan.program.size(), 3u);
}

TEST(LaunchPlanTest, TheFlagChoosesTheProtocolOfMpi) {
  RunFlags flags = Flags();
  EXPECT_EQ(Plan(flags).job.pmi, launcher::Pmi::kPmi1) << "until the program is known";
  flags.pmi = "pmix";
  EXPECT_EQ(Plan(flags).job.pmi, launcher::Pmi::kPmix);
  flags.pmi = "off";
  EXPECT_EQ(Plan(flags).job.pmi, launcher::Pmi::kOff);
}

TEST(LaunchPlanTest, RanksOfANodeAreContiguous) {
  const LaunchPlan plan = Plan(MultiNodeFlags());
  EXPECT_EQ(plan.job.world_size(), 24);
  EXPECT_EQ(plan.job.GlobalRank(0), 16);
  EXPECT_EQ(plan.job.GlobalRank(7), 23);
  EXPECT_EQ(plan.job.job, "default") << "what a musterd serves unless it is told otherwise";
}

TEST(LaunchPlanTest, NodesMayHaveDifferentNumbersOfRanks) {
  RunFlags flags = MultiNodeFlags();
  flags.nproc_per_node = "1,3,2";
  const LaunchPlan plan = Plan(flags);  // of the last node
  EXPECT_EQ(plan.job.nproc_per_node, 2);
  EXPECT_EQ(plan.job.world_size(), 6);
  EXPECT_EQ(plan.job.GlobalRank(0), 4);
  flags.nproc_per_node = "1,3";
  EXPECT_THAT(Refusal(flags), HasSubstr("--nproc-per-node has 2 numbers, and --nnodes is 3; give "
                                        "one number for each node, or one for all"));
  flags.nproc_per_node = "1,,3";
  EXPECT_THAT(Refusal(flags),
              HasSubstr("--nproc-per-node is '1,,3'; expected whole numbers from 1 to 4096, "
                        "separated by commas, one for each node"));
}

TEST(LaunchPlanTest, AnyElasticFlagMakesTheJobElastic) {
  RunFlags flags = Flags();
  flags.nproc_per_node = "4";
  EXPECT_FALSE(Plan(flags).job.elastic());
  EXPECT_EQ(Plan(flags).job.min_world_size, 4);
  flags.max_restarts = "1";
  EXPECT_TRUE(Plan(flags).job.elastic());
  flags.max_restarts.reset();
  flags.min_world_size = "3";
  EXPECT_TRUE(Plan(flags).job.elastic());
  EXPECT_EQ(Plan(flags).job.max_world_size, 4);
  flags.min_world_size = "5";
  EXPECT_THAT(Refusal(flags), HasSubstr("--min-world-size is '5'; expected a whole number from 1 "
                                        "to 4"));
  flags.min_world_size.reset();
  flags.max_world_size = "3";
  EXPECT_THAT(Refusal(flags), HasSubstr("--max-world-size is '3'; expected a whole number from 4"));
}

int Processes(const std::string& value, const Machine& machine) {
  RunFlags flags = Flags();
  flags.nproc_per_node = value;
  return Plan(flags, machine).job.nproc_per_node;
}

TEST(LaunchPlanTest, ProcessCountMayFollowTheMachine) {
  constexpr Machine kFourGpus = {4, 12};
  EXPECT_EQ(Processes("gpu", kFourGpus), 4);
  EXPECT_EQ(Processes("auto", kFourGpus), 4);
  EXPECT_EQ(Processes("cpu", kFourGpus), 12);
  EXPECT_EQ(Processes("auto", kNoGpu), 12);
  RunFlags flags = Flags();
  flags.nproc_per_node = "gpu";
  EXPECT_THAT(Refusal(flags, kNoGpu), HasSubstr("this machine has no visible GPU"));
}

struct BadFlag {
  std::optional<std::string> RunFlags::*flag;
  std::string value;
  std::string complaint;
};

class BadFlagTest : public ::testing::TestWithParam<BadFlag> {};

TEST_P(BadFlagTest, IsRejectedWithItsValueAndTheExpectedOne) {
  RunFlags flags = MultiNodeFlags();
  flags.*GetParam().flag = GetParam().value;
  EXPECT_THAT(Refusal(flags), HasSubstr(GetParam().complaint));
}

const std::string kControl = "a\nb";

INSTANTIATE_TEST_SUITE_P(
    All, BadFlagTest,
    ::testing::Values(
        BadFlag{&RunFlags::nproc_per_node, "0", "--nproc-per-node is '0'; expected a whole number"},
        BadFlag{&RunFlags::nproc_per_node, "-2", "--nproc-per-node is '-2'"},
        BadFlag{&RunFlags::nproc_per_node, "four", "--nproc-per-node is 'four'"},
        BadFlag{&RunFlags::nproc_per_node, "", "--nproc-per-node is ''"},
        BadFlag{&RunFlags::nproc_per_node, "99999999999", "from 1 to 4096, gpu, cpu or auto"},
        BadFlag{&RunFlags::nproc_per_node, "2.5", "--nproc-per-node is '2.5'"},
        BadFlag{&RunFlags::nnodes, "0", "--nnodes is '0'"},
        BadFlag{&RunFlags::node_rank, "3",
                "--node-rank is '3'; expected a whole number from 0 to 2"},
        BadFlag{&RunFlags::node_rank, "-1", "--node-rank is '-1'"},
        BadFlag{&RunFlags::coordinator, "", "--coordinator: '' is not a valid address"},
        BadFlag{&RunFlags::coordinator, "head", "it has no port"},
        BadFlag{&RunFlags::coordinator, "head:70000", "the port is not a number from 1 to 65535"},
        BadFlag{&RunFlags::node_id, "", "--node-id is ''; expected 1 to 256 bytes"},
        BadFlag{&RunFlags::node_id, std::string(257, 'n'), "--node-id has 257 bytes"},
        BadFlag{&RunFlags::node_id, kControl, "--node-id is 'a?b'"},
        BadFlag{&RunFlags::job, "", "--job is ''"},
        BadFlag{&RunFlags::job, std::string(300, 'j'), "--job has 300 bytes"},
        BadFlag{&RunFlags::job, "\xff", "--job is '?'"},
        BadFlag{&RunFlags::master_port, "0", "--master-port is '0'"},
        BadFlag{&RunFlags::grace, "5", "--grace is '5'; expected a duration such as 5s"},
        BadFlag{&RunFlags::grace, "-1s", "--grace is '-1s'"},
        BadFlag{&RunFlags::failure_wait, "soon", "--failure-wait is 'soon'"},
        BadFlag{&RunFlags::max_restarts, "-1", "--max-restarts is '-1'"},
        BadFlag{&RunFlags::restart, "node", "--restart is 'node'; expected group, rank or auto"},
        BadFlag{&RunFlags::min_world_size, "2", "give --min-world-size to that musterd"},
        BadFlag{&RunFlags::settle, "1s", "give --settle to that musterd"},
        BadFlag{&RunFlags::metrics_listen, ":9100", "give --metrics-listen to that musterd"},
        BadFlag{&RunFlags::torch_store, "on",
                "--torch-store is 'on'; expected loopback, node0 or off"},
        BadFlag{&RunFlags::pmi, "pmi2", "--pmi is 'pmi2'; expected on, pmix or off"},
        BadFlag{&RunFlags::bind_to, "", "--bind-to is ''; expected none, core or numa"},
        BadFlag{&RunFlags::log_dir, "", "--log-dir is ''"},
        BadFlag{&RunFlags::debug_dir, "", "--debug-dir is ''"},
        BadFlag{&RunFlags::musterd, "musterd", "--musterd cannot be combined with --coordinator"}));

TEST(LaunchPlanTest, SeveralNodesNeedACoordinator) {
  RunFlags flags = MultiNodeFlags();
  flags.coordinator.reset();
  EXPECT_THAT(Refusal(flags), HasSubstr("--nnodes is 3, which needs --coordinator"));
}

TEST(LaunchPlanTest, SeveralNodesNeedANodeRank) {
  RunFlags flags = MultiNodeFlags();
  flags.node_rank.reset();
  EXPECT_THAT(Refusal(flags), HasSubstr("which needs --node-rank: 0 to 2"));
}

TEST(LaunchPlanTest, TheProgramIsNeeded) {
  RunFlags flags = Flags();
  flags.program.clear();
  EXPECT_THAT(Refusal(flags), HasSubstr("no program given"));
  flags.program = {""};
  EXPECT_THAT(Refusal(flags), HasSubstr("no program given"));
}

RunFlags InCluster(RunFlags flags, const std::map<std::string, std::string>& variables) {
  FillFromEnvironment(
      [&](const char* name) {
        const auto it = variables.find(name);
        return it == variables.end() ? nullptr : it->second.c_str();
      },
      &flags);
  return flags;
}

const std::map<std::string, std::string> kKubeflow = {{"PET_NNODES", "3"},
                                                      {"PET_NPROC_PER_NODE", "cpu"},
                                                      {"PET_NODE_RANK", "1"},
                                                      {"PET_MASTER_ADDR", "train-0"},
                                                      {"PET_MASTER_PORT", "29400"}};

TEST(ClusterTest, KubeflowGivesTheNodeRank) {
  const LaunchPlan plan = Plan(InCluster(Flags(), kKubeflow));
  EXPECT_EQ(plan.job.nnodes, 3);
  EXPECT_EQ(plan.job.node_rank, 1);
  EXPECT_EQ(plan.job.nproc_per_node, 12);
  EXPECT_EQ(plan.job.coordinator.ToString(), "train-0:29400");
  EXPECT_EQ(plan.job.job, "default");
}

TEST(ClusterTest, FlagsOverrideTheCluster) {
  RunFlags flags = MultiNodeFlags();
  const LaunchPlan plan = Plan(InCluster(flags, kKubeflow));
  EXPECT_EQ(plan.job.node_rank, 2);
  EXPECT_EQ(plan.job.nproc_per_node, 8);
  EXPECT_EQ(plan.job.coordinator.ToString(), "head:7370");
}

TEST(ClusterTest, LeaderWorkerSetGivesTheNodeRank) {
  const LaunchPlan plan = Plan(InCluster(
      Flags(),
      {{"LWS_GROUP_SIZE", "2"}, {"LWS_WORKER_INDEX", "1"}, {"LWS_LEADER_ADDRESS", "lws-0.lws"}}));
  EXPECT_EQ(plan.job.nnodes, 2);
  EXPECT_EQ(plan.job.node_rank, 1);
  EXPECT_EQ(plan.job.coordinator.ToString(), "lws-0.lws:7370");
}

TEST(ClusterTest, ASingleNodeHostsItsCoordinator) {
  std::map<std::string, std::string> one = kKubeflow;
  one["PET_NNODES"] = "1";
  one["PET_NODE_RANK"] = "0";
  EXPECT_FALSE(Plan(InCluster(Flags(), one)).coordinator_given);
}

TEST(ClusterTest, SlurmNamesTheJobOfSeveralNodes) {
  const std::map<std::string, std::string> slurm = {{"SLURM_JOB_ID", "77"},
                                                    {"SLURM_RESTART_COUNT", "1"}};
  EXPECT_EQ(Plan(InCluster(MultiNodeFlags(), slurm)).job.job, "slurm-77-1");
  EXPECT_EQ(Plan(InCluster(Flags(), slurm)).job.job, "run-1");
}

TEST(ClusterTest, UsesTheExportedCoordinatorAndJob) {
  const std::map<std::string, std::string> exported = {{"MUSTER_COORDINATOR", "head:7370"},
                                                       {"MUSTER_JOB", "digits"}};
  const LaunchPlan plan = Plan(InCluster(Flags(), exported));
  EXPECT_TRUE(plan.coordinator_given);
  EXPECT_EQ(plan.job.coordinator.ToString(), "head:7370");
  EXPECT_EQ(plan.job.job, "digits");
  EXPECT_EQ(Plan(InCluster(Flags(), {{"MUSTER_COORDINATOR", "h:1"}})).job.job, "default");
  const LaunchPlan named = Plan(InCluster(Flags(), {{"MUSTER_JOB", "digits"}}));
  EXPECT_FALSE(named.coordinator_given);
  EXPECT_EQ(named.job.job, "digits");
  EXPECT_FALSE(Plan(InCluster(Flags(), {{"MUSTER_COORDINATOR", ""}})).coordinator_given);
}

TEST(ClusterTest, TheMetricsVariableAppliesToAHostedCoordinator) {
  const std::pair<const std::string, std::string> exported = {"MUSTER_METRICS_LISTEN", ":9100"};
  EXPECT_EQ(Plan(InCluster(Flags(), {exported})).metrics->ToString(), "127.0.0.1:9100");
  EXPECT_FALSE(Plan(InCluster(Flags(), {exported, {"MUSTER_COORDINATOR", "head:7370"}}))
                   .metrics.has_value());
  RunFlags flags = Flags();
  flags.metrics_listen = "0.0.0.0:0";
  EXPECT_EQ(Plan(InCluster(flags, {exported})).metrics->ToString(), "0.0.0.0:0");
  flags.metrics_listen = "everywhere";
  EXPECT_THAT(Refusal(flags), HasSubstr("--metrics-listen: 'everywhere' is not a valid address"));
}

TEST(ClusterTest, FlagsOverrideVariablesWhichOverrideTheCluster) {
  std::map<std::string, std::string> variables = kKubeflow;
  variables["MUSTER_COORDINATOR"] = "exported:1";
  variables["MUSTER_JOB"] = "digits";
  EXPECT_EQ(Plan(InCluster(Flags(), variables)).job.coordinator.ToString(), "exported:1");
  RunFlags flags = MultiNodeFlags();
  flags.job = "letters";
  const LaunchPlan plan = Plan(InCluster(flags, variables));
  EXPECT_EQ(plan.job.coordinator.ToString(), "head:7370");
  EXPECT_EQ(plan.job.job, "letters");
}

TEST(ClusterTest, AConflictingExportedCoordinatorIsNamed) {
  const std::map<std::string, std::string> exported = {{"MUSTER_COORDINATOR", "head:7370"}};
  RunFlags flags = Flags();
  flags.musterd = "/usr/bin/musterd";
  EXPECT_THAT(Refusal(InCluster(flags, exported)),
              HasSubstr("--musterd cannot be combined with MUSTER_COORDINATOR: one starts a "
                        "coordinator, the other joins one that runs; or unset MUSTER_COORDINATOR"));
  EXPECT_THAT(Refusal(InCluster(Flags(), {{"MUSTER_COORDINATOR", "head"}})),
              HasSubstr("MUSTER_COORDINATOR: 'head' is not a valid address"));
}

TEST(ClusterTest, ANestedJobIgnoresTheOuterVariables) {
  std::map<std::string, std::string> inner = kKubeflow;
  inner["MUSTER_PROCESS_SECRET"] = std::string(32, 'a');
  inner["MUSTER_COORDINATOR"] = "outer:7370";
  EXPECT_FALSE(Plan(InCluster(Flags(), inner)).coordinator_given);
  EXPECT_EQ(Plan(InCluster(Flags(), inner)).job.nnodes, 1);
}

}  // namespace
}  // namespace muster::cli
