#include "client/cli/launch_plan.h"

#include <algorithm>

#include "client/cli/environment.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

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

LaunchPlan Plan(const RunFlags& flags) {
  absl::StatusOr<LaunchPlan> plan = MakeLaunchPlan(flags, "run-1");
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *plan : LaunchPlan{};
}

std::string Refusal(const RunFlags& flags) {
  const absl::StatusOr<LaunchPlan> plan = MakeLaunchPlan(flags, "run-1");
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(plan.status().message());
}

TEST(LaunchPlanTest, StandaloneDefaults) {
  const LaunchPlan plan = Plan(Flags());
  EXPECT_EQ(plan.world_size(), 1);
  EXPECT_EQ(plan.GlobalRank(0), 0);
  EXPECT_EQ(plan.job, "run-1");
  EXPECT_FALSE(plan.coordinator.has_value());
  EXPECT_TRUE(plan.prefix);
  EXPECT_EQ(plan.grace, absl::Seconds(10));
  EXPECT_EQ(plan.failure_wait, absl::Seconds(2));
  EXPECT_EQ(plan.program.size(), 3u);
}

TEST(LaunchPlanTest, RanksOfANodeAreContiguous) {
  const LaunchPlan plan = Plan(MultiNodeFlags());
  EXPECT_EQ(plan.world_size(), 24);
  EXPECT_EQ(plan.GlobalRank(0), 16);
  EXPECT_EQ(plan.GlobalRank(7), 23);
  EXPECT_EQ(plan.job, "default") << "what a musterd serves unless it is told otherwise";
}

TEST(LaunchPlanTest, AJobIsElasticWhereAnyFlagSaysSo) {
  RunFlags flags = Flags();
  flags.nproc_per_node = "4";
  EXPECT_FALSE(Plan(flags).elastic());
  EXPECT_EQ(Plan(flags).min_world_size, 4);
  flags.max_restarts = "1";
  EXPECT_TRUE(Plan(flags).elastic());
  flags.max_restarts.reset();
  flags.min_world_size = "3";
  EXPECT_TRUE(Plan(flags).elastic());
  EXPECT_EQ(Plan(flags).max_world_size, 4);
  flags.min_world_size = "5";
  EXPECT_THAT(Refusal(flags), HasSubstr("--min-world-size is '5'; expected a whole number from 1 "
                                        "to 4"));
  flags.min_world_size.reset();
  flags.max_world_size = "3";
  EXPECT_THAT(Refusal(flags), HasSubstr("--max-world-size is '3'; expected a whole number from 4"));
}

struct BadFlag {
  std::optional<std::string> RunFlags::*flag;
  std::string value;
  std::string complaint;
};

class BadFlagTest : public ::testing::TestWithParam<BadFlag> {};

TEST_P(BadFlagTest, IsRefusedWithWhatItHoldsAndWhatWasExpected) {
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
        BadFlag{&RunFlags::nproc_per_node, "99999999999", "from 1 to 4096"},
        BadFlag{&RunFlags::nproc_per_node, "2.5", "--nproc-per-node is '2.5'"},
        BadFlag{&RunFlags::nnodes, "0", "--nnodes is '0'"},
        BadFlag{&RunFlags::node_rank, "3",
                "--node-rank is '3'; expected a whole number from 0 to 2"},
        BadFlag{&RunFlags::node_rank, "-1", "--node-rank is '-1'"},
        BadFlag{&RunFlags::coordinator, "", "--coordinator: '' is no address"},
        BadFlag{&RunFlags::coordinator, "head", "it has no port"},
        BadFlag{&RunFlags::coordinator, "head:70000", "the port is not 1 to 65535"},
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
        BadFlag{&RunFlags::min_world_size, "2", "give --min-world-size to that musterd"},
        BadFlag{&RunFlags::settle, "1s", "give --settle to that musterd"},
        BadFlag{&RunFlags::log_dir, "", "--log-dir is ''"},
        BadFlag{&RunFlags::musterd, "musterd", "--musterd and --coordinator exclude each other"}));

TEST(LaunchPlanTest, SeveralNodesNeedACoordinator) {
  RunFlags flags = MultiNodeFlags();
  flags.coordinator.reset();
  EXPECT_THAT(Refusal(flags), HasSubstr("--nnodes is 3 and no --coordinator is given"));
}

TEST(LaunchPlanTest, SeveralNodesNeedANodeRank) {
  RunFlags flags = MultiNodeFlags();
  flags.node_rank.reset();
  EXPECT_THAT(Refusal(flags), HasSubstr("--node-rank is missing; expected 0 to 2"));
}

TEST(LaunchPlanTest, TheProgramIsNeeded) {
  RunFlags flags = Flags();
  flags.program.clear();
  EXPECT_THAT(Refusal(flags), HasSubstr("the program is missing"));
  flags.program = {""};
  EXPECT_THAT(Refusal(flags), HasSubstr("the program is missing"));
}

TEST(RankEnvironmentTest, SaysWhatTheSdkAndTorchrunProgramsRead) {
  RunFlags flags = MultiNodeFlags();
  flags.node_id = "n2";
  const auto variables = RankEnvironment(Plan(flags), {"fe80::1", 7370}, {1, "\x01\xff", 2}, {});
  for (const char* expected :
       {"MUSTER_COORDINATOR=[fe80::1]:7370", "MUSTER_JOB=default", "MUSTER_WORLD_SIZE=24",
        "MUSTER_RANK=17", "MUSTER_LOCAL_RANK=1", "MUSTER_NODE_RANK=2", "MUSTER_NODE_ID=n2",
        "MUSTER_INCARNATION=01ff", "RANK=17", "WORLD_SIZE=24", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8",
        "GROUP_RANK=2", "MASTER_ADDR=fe80::1", "MASTER_PORT=7370"}) {
    EXPECT_THAT(variables, Contains(expected));
  }
}

TEST(RankEnvironmentTest, MasterPortIsTheUsersWhereGiven) {
  RunFlags flags = MultiNodeFlags();
  flags.master_port = "29500";
  EXPECT_THAT(RankEnvironment(Plan(flags), {"head", 7370}, {}, {}), Contains("MASTER_PORT=29500"));
}

TEST(RankEnvironmentTest, ReplacesInheritedValuesAndKeepsTheRest) {
  const auto variables = RankEnvironment(
      Plan(Flags()), {"127.0.0.1", 7}, {},
      {"RANK=9", "PATH=/bin", "MUSTER_TIMEOUT=5s", "RANKING=1", "MUSTER_NODE_ID=x"});
  EXPECT_THAT(variables, Contains("RANK=0"));
  EXPECT_THAT(variables, Not(Contains("RANK=9")));
  for (const char* kept : {"PATH=/bin", "MUSTER_TIMEOUT=5s", "RANKING=1", "MUSTER_NODE_ID=x"}) {
    EXPECT_THAT(variables, Contains(kept));
  }
  const auto is_rank = [](const std::string& variable) { return variable.rfind("RANK=", 0) == 0; };
  EXPECT_EQ(std::count_if(variables.begin(), variables.end(), is_rank), 1);
}

TEST(HostPortTest, Parses) {
  const auto name = ParseHostPort("head.cluster:7370");
  ASSERT_TRUE(name.ok()) << name.status();
  EXPECT_EQ(name->host, "head.cluster");
  EXPECT_EQ(name->port, 7370);
  const auto ipv6 = ParseHostPort("[::1]:1");
  ASSERT_TRUE(ipv6.ok()) << ipv6.status();
  EXPECT_EQ(ipv6->host, "::1");
  EXPECT_EQ(ipv6->ToString(), "[::1]:1");
}

TEST(HostPortTest, RefusesWhatIsNoAddress) {
  for (const char* text :
       {"", ":", "head", "head:", ":7370", "head:0", "head:65536", "head:-1", "head:7x", "head: 7",
        "::1:7370", "[]:7370", "[::1]", "he ad:7370", "http://head:7370", "head:+7"}) {
    const auto parsed = ParseHostPort(text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(parsed.status().message()),
                HasSubstr("expected host:port or [ipv6]:port"));
  }
}

}  // namespace
}  // namespace muster::cli
