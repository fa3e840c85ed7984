// Tests of the environment that a launcher gives its ranks.
#include "client/launcher/plan/rank_environment.h"

#include "absl/strings/str_cat.h"
#include "client/launcher/plan/master_port.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::launcher {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

using Variables = std::vector<std::string>;

// Returns the plan of the third of three nodes with eight ranks each.
JobPlan MultiNode() {
  JobPlan plan;
  plan.job = "default";
  plan.nproc_per_node = 8;
  plan.nnodes = 3;
  plan.node_rank = 2;
  plan.min_world_size = plan.max_world_size = 24;
  plan.coordinator = {"fe80::1", 7370};
  return plan;
}

Variables Environment(const JobPlan& plan, const RankStart& start, const Variables& base = {}) {
  return Merge(base, VariablesOf(plan, start));
}

TEST(RankEnvironmentTest, HasTheVariablesOfTheSdkAndTorchrun) {
  JobPlan plan = MultiNode();
  plan.node_id = "n2";
  const Variables variables = Environment(plan, {1, "\x01\xff", 2});
  for (const char* expected :
       {"MUSTER_COORDINATOR=[fe80::1]:7370", "MUSTER_JOB=default", "MUSTER_WORLD_SIZE=24",
        "MUSTER_RANK=17", "MUSTER_LOCAL_RANK=1", "MUSTER_NODE_RANK=2", "MUSTER_NODE_ID=n2",
        "MUSTER_PROCESS_SECRET=01ff", "MUSTER_RESTART_COUNT=2", "RANK=17", "WORLD_SIZE=24",
        "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8", "GROUP_RANK=2", "MASTER_ADDR=fe80::1"}) {
    EXPECT_THAT(variables, Contains(expected));
  }
}

TEST(RankEnvironmentTest, NamesTheStoreOfPyTorchPrograms) {
  const Variables base = {"TORCHELASTIC_USE_AGENT_STORE=True"};
  EXPECT_THAT(Environment(MultiNode(), {0, "s", 0}, base),
              Not(Contains(StartsWith("TORCHELASTIC_USE_AGENT_STORE="))));
  JobPlan plan = MultiNode();
  plan.torch_store = TorchStore::kLoopback;
  plan.torch_port = 4711;
  plan.torch_generation = 2;
  for (const char* expected :
       {"MASTER_ADDR=127.0.0.1", "MASTER_PORT=4711", "TORCHELASTIC_USE_AGENT_STORE=True",
        "TORCHELASTIC_RESTART_COUNT=2"}) {
    EXPECT_THAT(Environment(plan, {0, "s", 0}), Contains(expected));
  }
  plan.torch_store = TorchStore::kNode0;
  EXPECT_THAT(Environment(plan, {0, "s", 0}), Contains("MASTER_ADDR=fe80::1"));
}

TEST(RankEnvironmentTest, NamesOnlyItsOwnActivityFile) {
  const Variables base = {"MUSTER_ACTIVITY_FILE=/another"};
  EXPECT_THAT(Environment(MultiNode(), {0, "s", 0, "/proc/1/fd/9"}, base),
              Contains("MUSTER_ACTIVITY_FILE=/proc/1/fd/9"));
  EXPECT_THAT(Environment(MultiNode(), {0, "s", 0}, base),
              Not(Contains(StartsWith("MUSTER_ACTIVITY_FILE="))));
}

TEST(RankEnvironmentTest, SaysWhetherTheRankIsBound) {
  const Variables base = {"MUSTER_BIND_TO=core"};
  JobPlan plan = MultiNode();
  EXPECT_THAT(Environment(plan, {0, "s", 0}, base), Not(Contains(StartsWith("MUSTER_BIND_TO="))));
  plan.bind_to = BindTo::kNuma;
  plan.cpus.assign(8, {0, 1});
  EXPECT_THAT(Environment(plan, {0, "s", 0}, base), Contains("MUSTER_BIND_TO=numa"));
}

TEST(RankEnvironmentTest, HasTheVariablesOfOneProtocolOfMpi) {
  const Variables base = {"PMI_FD=9", "PMIX_RANK=7", "PMIX_SERVER_URI=outer", "PMIX_MCA_x=y"};
  RankStart start;
  start.local_rank = 1;
  EXPECT_EQ(Environment(MultiNode(), start, base).front(), "PMI_FD=9") << "no server of our own";

  start.mpi.pmix = {"PMIX_RANK=17", "PMIX_NAMESPACE=a=b"};
  const Variables pmix = Environment(MultiNode(), start, base);
  for (const char* expected :
       {"PMIX_RANK=17", "PMIX_NAMESPACE=a=b", "PMIX_MCA_x=y", "JSM_JSRUN_PORT=1"}) {
    EXPECT_THAT(pmix, Contains(expected));
  }
  EXPECT_THAT(pmix, Not(Contains(StartsWith("PMI_"))));
  EXPECT_THAT(pmix, Not(Contains("PMIX_SERVER_URI=outer")));

  start.mpi = {5, {}};
  const Variables pmi = Environment(MultiNode(), start, base);
  for (const char* expected : {"PMI_FD=5", "PMI_RANK=17", "MPI_LOCALRANKID=1"}) {
    EXPECT_THAT(pmi, Contains(expected));
  }
  EXPECT_THAT(pmi, Not(Contains(StartsWith("PMIX_RANK="))));
  EXPECT_THAT(pmi, Not(Contains(StartsWith("JSM_"))));
}

TEST(RankEnvironmentTest, UsesTheGivenMasterPort) {
  JobPlan plan = MultiNode();
  plan.master_port = 29500;
  EXPECT_THAT(Environment(plan, {}), Contains("MASTER_PORT=29500"));
}

TEST(RankEnvironmentTest, AllNodesShareAMasterPortOtherThanTheCoordinators) {
  JobPlan plan = MultiNode();
  const int port = MasterPort(plan);
  EXPECT_GE(port, 20000);
  EXPECT_LT(port, 30001);
  EXPECT_THAT(Environment(plan, {}), Contains(absl::StrCat("MASTER_PORT=", port)));
  plan.node_rank = 0;
  EXPECT_EQ(MasterPort(plan), port);
  plan.coordinator.port = 7371;
  EXPECT_NE(MasterPort(plan), port) << "another coordinator's job";
  for (plan.coordinator.port = 20000; plan.coordinator.port < 30000; ++plan.coordinator.port) {
    ASSERT_NE(MasterPort(plan), plan.coordinator.port);
  }
}

TEST(RankEnvironmentTest, ReplacesInheritedValuesAndKeepsTheRest) {
  const Variables variables =
      Environment(MultiNode(), {},
                  {"RANK=9", "PATH=/bin", "MUSTER_TIMEOUT=5s", "RANKING=1", "MUSTER_NODE_ID=x"});
  EXPECT_THAT(variables, Contains("RANK=16"));
  EXPECT_THAT(variables, Contains(StartsWith("RANK=")).Times(1));
  for (const char* kept : {"PATH=/bin", "MUSTER_TIMEOUT=5s", "RANKING=1", "MUSTER_NODE_ID=x"}) {
    EXPECT_THAT(variables, Contains(kept));
  }
}

TEST(RankEnvironmentTest, ANestedElasticJobUnsetsTheOuterRank) {
  JobPlan plan = MultiNode();
  plan.max_restarts = 1;
  const Variables variables = Environment(plan, {}, {"MUSTER_RANK=3", "MUSTER_WORLD_SIZE=4"});
  EXPECT_THAT(variables, Not(Contains(StartsWith("MUSTER_RANK="))));
  EXPECT_THAT(variables, Not(Contains(StartsWith("MUSTER_WORLD_SIZE="))));
}

TEST(RankEnvironmentTest, GivenCredentialsReplaceInheritedOnes) {
  JobPlan plan = MultiNode();
  plan.credentials.token_file = "/given";
  const Variables variables =
      Environment(plan, {}, {"MUSTER_TOKEN_FILE=/inherited", "MUSTER_TLS_CA=/ca"});
  EXPECT_THAT(variables, Contains("MUSTER_TOKEN_FILE=/given"));
  EXPECT_THAT(variables, Contains(StartsWith("MUSTER_TOKEN_FILE=")).Times(1));
  EXPECT_THAT(variables, Contains("MUSTER_TLS_CA=/ca"));
}

TEST(RankEnvironmentTest, ACoordinatorWithItsOwnTokenGetsNoOtherCredentials) {
  JobPlan plan = MultiNode();
  plan.hosted = CoordinatorCommand{};
  plan.hosted->own_token = true;
  plan.credentials.token_file = "/own";
  const Variables variables =
      Environment(plan, {}, {"MUSTER_TOKEN_FILE=/inherited", "MUSTER_TLS_CA=/ca"});
  EXPECT_THAT(variables, Contains("MUSTER_TOKEN_FILE=/own"));
  EXPECT_THAT(variables, Not(Contains(StartsWith("MUSTER_TLS_"))));
}

}  // namespace
}  // namespace muster::launcher
