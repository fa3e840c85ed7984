// Tests of what `muster status` prints of a job's status.
#include "client/cli/inquire/status_report.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

muster::v1::GetStatusResponse Status(const std::string& text) {
  muster::v1::GetStatusResponse status;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &status));
  return status;
}

constexpr char kRunning[] = R"pb(
  job_id: "digits"
  daemon_version: "0.1.0"
  state: JOB_STATE_RUNNING
  reason: "2 of 2 have joined"
  epoch { number: 17 nonce: 5 }
  world_size: 2
  uptime { seconds: 75 }
  members {
    member { node_id: "n0" hostname: "alpha" pid: 71 }
    rank: 0
    state: MEMBER_STATE_RUNNING
    last_collective: "Barrier('epoch 1') #12 of the world"
    waiting_in: "Barrier('epoch 1') #12 of the world"
    waiting_for { seconds: 12 nanos: 340000000 }
    since_last_call { seconds: 12 }
  }
  members {
    member { node_id: "n1" hostname: "beta" pid: 8 }
    rank: 1
    state: MEMBER_STATE_LEAVING
    waiting_in: "Leave"
    waiting_for { seconds: 1 }
    since_last_call { nanos: 40000000 }
  })pb";

TEST(StatusReportTest, NamesTheNodesWhoseRanksArriveTogether) {
  EXPECT_THAT(StatusReport(Status(absl::StrCat(
                  kRunning, " node_collective_nodes: 'a' node_collective_nodes: 'b'"))),
              HasSubstr("\nranks arrive together on 2 nodes: a, b\n"));
  EXPECT_THAT(StatusReport(Status(kRunning)), Not(HasSubstr("arrive together")));
}

TEST(StatusReportTest, ShowsTheCpusOfBoundRanks) {
  v1::GetStatusResponse status = Status(kRunning);
  EXPECT_THAT(StatusReport(status), Not(HasSubstr("CPUS")));
  status.mutable_members(1)->set_cpus("8-15,72");
  EXPECT_THAT(StatusReport(status), AllOf(ContainsRegex("\nRANK +NODE +HOST +PID +CPUS +STATE"),
                                          ContainsRegex("\n0 +n0 +alpha +71 +- +running"),
                                          ContainsRegex("\n1 +n1 +beta +8 +8-15,72 +leaving")));
  EXPECT_THAT(*StatusJson(status), HasSubstr("\"cpus\": \"8-15,72\""));
}

TEST(StatusReportTest, ShowsMismatches) {
  const std::string report = StatusReport(Status(absl::StrCat(kRunning, R"pb(
    oddities: "rank 9 (node 'n2') has NCCL 2.27.3, the other 15 have 2.28.9")pb")));
  EXPECT_THAT(report, HasSubstr("\ndifferences when the epoch formed\nrank 9 (node 'n2') has NCCL "
                                "2.27.3, the other 15 have 2.28.9\n"));
}

TEST(StatusReportTest, ShowsTheLastVerdictWithItsAge) {
  const std::string report = StatusReport(Status(absl::StrCat(kRunning, R"pb(
    inquiry {
      number: 7
      age { seconds: 90 }
      verdict: "rank 3 has not come: it is stopped"
    })pb")));
  EXPECT_THAT(report, HasSubstr("\nverdict of 1m30s ago\nrank 3 has not come: it is stopped\n"));
  EXPECT_THAT(StatusReport(Status(absl::StrCat(kRunning, " inquiry { number: 7 open: true }"))),
              Not(HasSubstr("verdict")));
}

TEST(StatusReportTest, VerdictsAndMismatchesAreWrappedAndEscaped) {
  const v1::GetStatusResponse status = Status(absl::StrCat(kRunning, R"pb(
    oddities: "rank 9 (node 'n2') has NCCL_IB_HCA=\033[2J, the other 15 have NCCL_IB_HCA=mlx5_0"
    inquiry {
      number: 7
      verdict: "rank 3 has not come to Barrier('a') op 0 of the world: it is in read() of /data/shard-7"
    })pb"));
  EXPECT_THAT(StatusReport(status, 60),
              AllOf(HasSubstr("\nrank 3 has not come to Barrier('a') op 0 of the world: it is\n"
                              "in read() of /data/shard-7\n"),
                    HasSubstr("\nrank 9 (node 'n2') has NCCL_IB_HCA=?[2J, the other 15 have\n"
                              "NCCL_IB_HCA=mlx5_0\n")));
  EXPECT_THAT(StatusReport(status), HasSubstr(" op 0 of the world: it is in read() of /data/"));
}

TEST(StatusReportTest, ShowsStragglers) {
  const std::string report = StatusReport(Status(absl::StrCat(kRunning, R"pb(
    stragglers {
      rank: 5
      node_id: "n2"
      operation: "Barrier('step #') of the world"
      collectives: 2000
      last: 1660
      median { nanos: 120000000 }
      p95 { nanos: 310000000 }
      waited_for { seconds: 199 }
    })pb")));
  EXPECT_THAT(report, HasSubstr("\nlate ranks\nRANK  NODE  LAST IN  OF    OPERATION"));
  EXPECT_THAT(report, HasSubstr("\n5     n2    83%      2000  Barrier('step #')  120ms   310ms  "
                                "3m19s\n"));
  EXPECT_THAT(StatusReport(Status(kRunning)), Not(HasSubstr("late ranks")));
}

TEST(StatusReportTest, CountsUnauthenticatedCalls) {
  EXPECT_THAT(StatusReport(Status(kRunning)), Not(HasSubstr("refused")));
  EXPECT_THAT(StatusReport(Status(absl::StrCat(kRunning, " unauthenticated_calls: 12"))),
              HasSubstr("up 1m15s; calls refused for their credentials: 12\n"));
}

TEST(StatusReportTest, LongNamesFitTheTerminal) {
  muster::v1::GetStatusResponse status = Status(kRunning);
  for (muster::v1::MemberStatus& member : *status.mutable_members()) {
    member.mutable_member()->set_node_id("gpu-host-17/28ab3884-b20c-42a8-a433-36a317b35dbc");
    member.mutable_member()->set_hostname("gpu-host-17.cluster.example.org");
  }
  status.set_reason("rank 3 (node 'gpu-host-17/28ab3884-b20c-42a8-a433-36a317b35dbc') was lost");
  std::istringstream report(StatusReport(status, 80));
  for (std::string line; std::getline(report, line);) EXPECT_LE(line.size(), 80u) << line;
}

// Members whose node ids are the ones that processes make for themselves.
constexpr char kOnOneHost[] = R"pb(
  job_id: "digits"
  daemon_version: "0.1.0"
  state: JOB_STATE_RUNNING
  epoch { number: 1795372079016798 nonce: 5 }
  world_size: 2
  uptime { seconds: 75 }
  node_collective_nodes: "vm/58b986b6-87fa-4517-80b6-85a31b2c8f77"
  members {
    member { node_id: "vm/58b986b6-87fa-4517-80b6-85a31b2c8f77" hostname: "vm" pid: 19301 }
    rank: 0
    state: MEMBER_STATE_RUNNING
    waiting_in: "Barrier('step 270') op 270 of the world"
    waiting_for { nanos: 410000000 }
    since_last_call { nanos: 410000000 }
  }
  members {
    member { node_id: "vm/58b986b6-87fa-4517-80b6-85a31b2c8f77" hostname: "vm" pid: 19302 }
    rank: 1
    state: MEMBER_STATE_STOPPED
    activity: "last completed Barrier('step 269') op 269 of the world 0.563s ago"
    since_last_call { nanos: 562000000 }
  }
  pending_collectives {
    sequence: 270
    operation: "Barrier('step 270')"
    arrived_ranks: 0
    missing_ranks: 1
    age { nanos: 549000000 }
    since_last_arrival { nanos: 410000000 }
  })pb";

TEST(StatusReportTest, ATypicalRowFitsOneLine) {
  EXPECT_EQ(StatusReport(Status(kOnOneHost), 80),
            "job digits: running, epoch 1795372079016798, world size 2; musterd 0.1.0, up\n"
            "1m15s\n"
            "ranks arrive together on 1 node: vm\n"
            "\n"
            "RANK  NODE  PID    STATE    ACTIVITY\n"
            "0     vm    19301  running  in Barrier('step 270') op 270 for 410ms\n"
            "1     vm    19302  stopped  completed Barrier('step 269') op 269, 0.563s ago\n"
            "\n"
            "pending collectives\n"
            "GROUP  NUMBER  OPERATION            ARRIVED  MISSING  SINCE  LAST ARRIVAL\n"
            "world  #270    Barrier('step 270')  0        1        549ms  410ms ago\n");
  EXPECT_THAT(StatusReport(Status(kOnOneHost)), HasSubstr("LAST CALL\n"));
}

TEST(StatusReportTest, NodesWithTheSameHostNameAreDistinguished) {
  muster::v1::GetStatusResponse status = Status(kOnOneHost);
  status.mutable_members(1)->mutable_member()->set_node_id(
      "vm/28ab3884-b20c-42a8-a433-36a317b35dbc");
  EXPECT_THAT(StatusReport(status, 80),
              AllOf(HasSubstr("\n0     vm/58b9  19301  "), HasSubstr("\n1     vm/28ab  19302  "),
                    HasSubstr("1 node: vm/58b9\n")));
}

TEST(StatusReportTest, NodesOfOneHostShowTheirIds) {
  muster::v1::GetStatusResponse status = Status(kOnOneHost);
  status.mutable_members(0)->mutable_member()->set_node_id("a");
  status.mutable_members(1)->mutable_member()->set_node_id("b");
  EXPECT_THAT(StatusReport(status, 80), AllOf(HasSubstr("RANK  NODE  PID    STATE"),
                                              HasSubstr("\n0     a     19301  running"),
                                              HasSubstr("\n1     b     19302  stopped")));
}

TEST(StatusReportTest, AlignsTheMembers) {
  EXPECT_EQ(
      StatusReport(Status(kRunning)),
      "job digits: running (2 of 2 have joined), epoch 17, world size 2; musterd 0.1.0, up 1m15s\n"
      "\n"
      "RANK  NODE  HOST   PID  STATE    ACTIVITY                             LAST CALL\n"
      "0     n0    alpha  71   running  in Barrier('epoch 1') #12 for 12.3s  12.0s ago\n"
      "1     n1    beta   8    leaving  in Leave for 1.0s                    40ms ago\n");
}

TEST(StatusReportTest, AComputingMemberShowsItsLastCall) {
  EXPECT_THAT(StatusReport(Status(R"pb(
                members {
                  last_collective: "Barrier op 3 of the world"
                  activity: "last completed Barrier op 3 of the world 40s ago"
                })pb")),
              HasSubstr("  last completed Barrier op 3, 40s ago  "));
}

TEST(StatusReportTest, AnElasticJobShowsItsBoundsAndNewcomers) {
  EXPECT_THAT(
      StatusReport(Status("world_size: 3 min_world_size: 2 max_world_size: 4 "
                          "newcomers_waiting: 1 stop_requested: true")),
      HasSubstr(
          "world size 3 (elastic, 2 to 4); newcomers waiting: 1; a stop was requested; musterd"));
}

TEST(StatusReportTest, AJobThatForms) {
  EXPECT_EQ(StatusReport(Status("job_id: 'j' daemon_version: '0.1.0' state: JOB_STATE_FORMING")),
            "job j: forming, world size not known yet; musterd 0.1.0, up 0ms\n"
            "\n"
            "no members yet\n");
}

TEST(StatusReportTest, PendingCollectivesNameMissingRanks) {
  const std::string report = StatusReport(Status(R"pb(
    pending_collectives {
      sequence: 3
      operation: "Broadcast(root 0)"
      arrived_ranks: [ 3, 4 ]
      missing_ranks: [ 0, 1, 5 ]
      gave_up_ranks: 2
      age { seconds: 3700 }
      since_last_arrival { seconds: 60 }
    }
    pending_collectives {
      group {
        name: "tp"
        ranks: [ 1, 0, 3 ]
      }
      operation: "Barrier"
      arrived_ranks: 1
    })pb"));
  EXPECT_THAT(report, HasSubstr("\npending collectives\n"
                                "GROUP       NUMBER  OPERATION          ARRIVED  MISSING  GAVE UP  "
                                "SINCE  LAST ARRIVAL\n"
                                "world       #3      Broadcast(root 0)  3-4      0-1,5    2        "
                                "1h1m   1m0s ago\n"
                                "tp (0-1,3)  #0      Barrier            1        -        -        "
                                "0ms    0ms ago\n"));
}

constexpr char kStoreWaits[] = R"pb(
  store_waits {
    what: "key 'port' has not been set"
    ranks: [ 3, 5 ]
    launcher_nodes: "n1"
    others: 2
    age { seconds: 41 }
  }
  store_waits {
    what: "1 of 2 have arrived at barrier '\033[2J'"
    ranks: 7
    age { nanos: 340000000 }
  }
  unlisted_store_waits: 12)pb";

TEST(StatusReportTest, WaitsInTheStore) {
  const std::string report = StatusReport(Status(kStoreWaits));
  EXPECT_THAT(report,
              HasSubstr("\nwaits in the store\n"
                        "ranks 3,5 and the launcher of n1 and 2 processes without a rank have "
                        "waited 41.0s: key 'port' has not been set\n"
                        "rank 7 has waited 340ms: 1 of 2 have arrived at barrier '?[2J'\n"
                        "and 12 more\n"));
  EXPECT_THAT(StatusReport(Status(kRunning)), Not(HasSubstr("store")));
}

TEST(StatusReportTest, OnlyTheLongestWaitsInTheStoreAreShown) {
  muster::v1::GetStatusResponse status = Status(kStoreWaits);
  for (int i = 2; i < 100; ++i) status.add_store_waits()->set_others(1);
  const std::string report = StatusReport(status, 60);
  EXPECT_THAT(report, HasSubstr("\nand 92 more\n"));
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 60u) << line;
}

TEST(StatusJsonTest, HasTheWaitsInTheStore) {
  const absl::StatusOr<std::string> json = StatusJson(Status(kStoreWaits));
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_THAT(*json, HasSubstr("\"what\": \"key 'port' has not been set\""));
  EXPECT_THAT(*json, HasSubstr("\"unlisted_store_waits\": 12"));
}

TEST(StatusReportTest, Leases) {
  const std::string report = StatusReport(Status(R"pb(
    leases {
      name: "unpack"
      scope: LEASE_SCOPE_NODE
      node_id: "n0"
      holder { pid: 71 }
      holder_rank: 2
      token: 9
      waiters: 3
      held_for { seconds: 90000 }
    }
    leases { name: "tune" scope: LEASE_SCOPE_JOB token: 4 completed: true }
    leases { name: "free" scope: LEASE_SCOPE_JOB })pb"));
  EXPECT_THAT(report,
              HasSubstr("\nleases\n"
                        "LEASE   SCOPE  NODE  HOLDER           TOKEN  STATE          WAITERS\n"
                        "unpack  node   n0    rank 2 (pid 71)  9      held for 1d1h  3\n"
                        "tune    job    -     -                4      completed      0\n"
                        "free    job    -     -                0      free           0\n"));
}

TEST(StatusReportTest, RecentFailures) {
  const std::string report = StatusReport(Status(R"pb(
    state: JOB_STATE_FAILED
    recent_failures {
      rank: 1
      member { node_id: "n1" pid: 8 }
      cause: "killed by signal 9 (SIGKILL)"
      activity: "no collective so far"
      age { seconds: 5 }
    }
    recent_failures {
      member { node_id: "n2" pid: 9 }
      cause: "gone"
    })pb"));
  EXPECT_THAT(report,
              HasSubstr("\nrecent failures\n"
                        "RANK  NODE  PID  CAUSE                         ACTIVITY              "
                        "WHEN\n"
                        "1     n1    8    killed by signal 9 (SIGKILL)  no collective so far  "
                        "5.0s ago\n"
                        "-     n2    9    gone                          -                     "
                        "0ms ago\n"));
  EXPECT_THAT(report, Not(HasSubstr("leases")));
}

TEST(StatusReportTest, UnknownValuesShowAsNumbers) {
  muster::v1::GetStatusResponse status;
  status.set_state(static_cast<muster::v1::JobState>(42));
  EXPECT_THAT(StatusReport(status), HasSubstr("state 42"));
}

TEST(StatusReportTest, TextOfPeersIsEscaped) {
  muster::v1::GetStatusResponse status;
  status.set_reason("\033[2J");
  EXPECT_THAT(StatusReport(status), Not(HasSubstr("\033")));
}

TEST(StatusJsonTest, HasTheFieldsUnderTheirProtoNames) {
  const absl::StatusOr<std::string> json = StatusJson(Status(kRunning));
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_THAT(*json, HasSubstr("\"job_id\": \"digits\""));
  EXPECT_THAT(*json, HasSubstr("\"world_size\": 2"));
  EXPECT_THAT(*json, HasSubstr("\"state\": \"MEMBER_STATE_LEAVING\""));
}

TEST(StatusJsonTest, AGroupHasItsNameAndItsRanks) {
  const absl::StatusOr<std::string> json = StatusJson(Status(R"pb(
    pending_collectives {
      group {
        name: "tp"
        ranks: [ 3, 1 ]
      }
      gave_up_ranks: 3
    })pb"));
  ASSERT_TRUE(json.ok()) << json.status();
  std::string compact = *json;
  compact.erase(std::remove_if(compact.begin(), compact.end(), absl::ascii_isspace), compact.end());
  EXPECT_THAT(compact, HasSubstr(R"("group":{"name":"tp","ranks":[3,1]})"));
  EXPECT_THAT(compact, HasSubstr(R"("gave_up_ranks":[3])"));
}

TEST(BriefDurationTest, TwoUnitsAtMost) {
  EXPECT_EQ(BriefDuration(absl::ZeroDuration()), "0ms");
  EXPECT_EQ(BriefDuration(absl::Milliseconds(340)), "340ms");
  EXPECT_EQ(BriefDuration(absl::Milliseconds(12540)), "12.5s");
  EXPECT_EQ(BriefDuration(absl::Seconds(192)), "3m12s");
  EXPECT_EQ(BriefDuration(absl::Minutes(125)), "2h5m");
  EXPECT_EQ(BriefDuration(absl::Hours(52)), "2d4h");
}

}  // namespace
}  // namespace muster::cli
