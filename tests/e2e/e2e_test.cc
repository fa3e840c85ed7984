// Real processes, really killed: the daemon, the launcher and ranks that link the SDK.

#include <signal.h>

#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "muster/version.h"
#include "tests/util/daemon.h"
#include "tests/util/process.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kRankError = 3;

std::string RankPath() { return Runfile("tests/e2e/rank"); }

// `muster run` of the rank program, with a coordinator of its own.
std::vector<std::string> Launch(int ranks, const std::string& what) {
  return {Runfile("client/cli/muster"), "run", "--musterd", MusterdPath(), "--nproc-per-node",
          absl::StrCat(ranks),          "--",  RankPath(),  what};
}

// The same as one node of a job whose coordinator runs.
std::vector<std::string> LaunchNode(const TestDaemon& daemon, int ranks, const std::string& what,
                                    const std::vector<std::string>& flags = {}) {
  std::vector<std::string> command = {
      Runfile("client/cli/muster"), "run", "--coordinator", daemon.address(), "--nproc-per-node",
      absl::StrCat(ranks)};
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {"--", RankPath(), what});
  return command;
}

// The pid that a rank has printed: "rank 1 pid 4711 enters barrier".
pid_t PidOf(int rank, const Process& launcher) {
  const std::string mark = absl::StrCat("rank ", rank, " pid ");
  const std::string output = launcher.Output();
  const size_t at = output.find(mark);
  if (at == std::string::npos) return -1;
  return std::stoi(output.substr(at + mark.size()));
}

int CountOf(const std::string& text, const std::string& what) {
  return static_cast<int>(std::vector<std::string>(absl::StrSplit(text, what)).size()) - 1;
}

// ---- All primitives, on 1 to 8 ranks ----

class WorldSize : public ::testing::TestWithParam<int> {};

TEST_P(WorldSize, EveryPrimitiveGivesTheRightValues) {
  auto run = Process::Start(Launch(GetParam(), "all"));
  EXPECT_EQ(run->Wait(), (Exit{false, 0})) << run->Output();
  EXPECT_EQ(CountOf(run->Output(), absl::StrCat(" of ", GetParam(), " is done")), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Launched, WorldSize, ::testing::Values(1, 2, 4, 8));

TEST(EndToEndTest, WithoutACoordinatorTheSameProgramRunsAlone) {
  auto run = Process::Start({RankPath(), "all"});
  EXPECT_EQ(run->Wait(), (Exit{false, 0})) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("rank 0 of 1 is done"));
}

TEST(EndToEndTest, TwoNodesOfTwoMakeOneJob) {
  auto daemon = TestDaemon::Start({"--world-size", "4", "--exit-when-done"});
  std::vector<std::unique_ptr<Process>> nodes;
  for (int node = 0; node < 2; ++node) {
    nodes.push_back(Process::Start(LaunchNode(*daemon, 2, "all",
                                              {"--nnodes", "2", "--node-rank", absl::StrCat(node),
                                               "--node-id", absl::StrCat("node", node)})));
  }
  for (auto& node : nodes) EXPECT_EQ(node->Wait(), (Exit{false, 0})) << node->Output();
  EXPECT_EQ(daemon->process().Wait(), (Exit{false, 0})) << daemon->process().Output();
}

// ---- A rank killed in each primitive ----

// Asks the daemon until as many members as that wait in a call.
class StatusReader {
 public:
  explicit StatusReader(const std::string& address)
      : stub_(v1::CoordinatorService::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}

  bool WaitForParked(int members) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (absl::Now() < deadline) {
      int parked = 0;
      const v1::GetStatusResponse job = Get();
      for (const v1::MemberStatus& member : job.members()) parked += !member.waiting_in().empty();
      if (parked >= members) return true;
      absl::SleepFor(absl::Milliseconds(2));
    }
    return false;
  }

  v1::GetStatusResponse Get() {
    grpc::ClientContext context;
    v1::GetStatusResponse response;
    const grpc::Status status = stub_->GetStatus(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

 private:
  std::unique_ptr<v1::CoordinatorService::Stub> stub_;
};

struct Victim {
  std::string primitive;
  bool survivor_leaves = false;  // a rank that is leaving needs nothing: a loss answers it OK
};

class KilledIn : public ::testing::TestWithParam<Victim> {};

// Ranks 0 and 1 are inside the primitive, which rank 2 keeps from completing; rank 1 is killed.
TEST_P(KilledIn, EverySurvivorNamesTheLostRank) {
  const std::string primitive = GetParam().primitive;
  auto daemon = TestDaemon::Start({"--world-size", "3"});
  StatusReader status(daemon->address());
  auto run = Process::Start(LaunchNode(*daemon, 3, primitive));
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(run->WaitForOutput(absl::StrCat("[", rank, "] rank ", rank, " pid ")));
  }
  ASSERT_TRUE(run->WaitForOutput(primitive == "lease" ? "rank 2 holds" : "rank 2 pid"));
  if (primitive != "allreduce") {
    ASSERT_TRUE(status.WaitForParked(2)) << status.Get().DebugString();
  }
  const pid_t victim = PidOf(1, *run);
  ASSERT_GT(victim, 0);
  kill(victim, SIGKILL);

  EXPECT_EQ(run->Wait(), (Exit{false, 128 + SIGKILL})) << run->Output();
  const std::string lost = absl::StrCat("rank 1 (node '");
  const std::string cause = absl::StrCat("pid ", victim, ") was lost at ");
  const int errors = GetParam().survivor_leaves ? 1 : 2;
  EXPECT_EQ(CountOf(run->Output(), "error: ABORTED"), errors) << run->Output();
  EXPECT_EQ(CountOf(run->Output(), cause), errors) << run->Output();
  EXPECT_THAT(run->Output(), AllOf(HasSubstr(lost), HasSubstr("killed by signal 9 (SIGKILL)")));
  EXPECT_EQ(status.Get().state(), v1::JOB_STATE_FAILED);
}

INSTANTIATE_TEST_SUITE_P(Primitives, KilledIn,
                         ::testing::Values(Victim{"barrier"}, Victim{"broadcast"}, Victim{"gather"},
                                           Victim{"allgather"}, Victim{"lease"},
                                           Victim{"leave", true}, Victim{"allreduce"}),
                         [](const auto& info) { return info.param.primitive; });

// Without a launcher the daemon sees only that the connection has ended.
TEST(EndToEndTest, WithoutALauncherALossIsKnownAfterTheGrace) {
  auto daemon = TestDaemon::Start({"--world-size", "3", "--member-grace", "300ms"});
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.push_back(Process::Start(
        {RankPath(), "allreduce"},
        {{"MUSTER_COORDINATOR", daemon->address()}, {"MUSTER_RANK", absl::StrCat(rank)}}));
  }
  for (auto& rank : ranks) ASSERT_TRUE(rank->WaitForOutput("enters allreduce"));
  ranks[1]->Signal(SIGKILL);
  for (int rank : {0, 2}) {
    EXPECT_EQ(ranks[rank]->Wait(), (Exit{false, kRankError}));
    EXPECT_THAT(ranks[rank]->Output(),
                AllOf(HasSubstr("error: ABORTED"), HasSubstr("rank 1 (node '"),
                      HasSubstr(absl::StrCat("pid ", ranks[1]->pid())),
                      HasSubstr("did not come back within 300ms")));
  }
}

TEST(EndToEndTest, DaemonAndSdkAreOneRelease) {
  auto version = Process::Start({MusterdPath(), "--version"});
  EXPECT_EQ(version->Wait(), (Exit{false, 0}));
  EXPECT_THAT(version->Output(), HasSubstr(MUSTER_VERSION));
}

// ---- Joining that goes wrong ----

TEST(EndToEndTest, AMissingRankIsNamedWhenJoiningTimesOut) {
  auto daemon = TestDaemon::Start({"--world-size", "2"});
  auto rank = Process::Start({RankPath(), "all"}, {{"MUSTER_COORDINATOR", daemon->address()},
                                                   {"MUSTER_RANK", "0"},
                                                   {"MUSTER_TIMEOUT", "500ms"}});
  EXPECT_EQ(rank->Wait(), (Exit{false, kRankError}));
  EXPECT_THAT(rank->Output(), AllOf(HasSubstr("DEADLINE_EXCEEDED"), HasSubstr("1 of 2 have joined"),
                                    HasSubstr("missing: rank 1")));
}

TEST(EndToEndTest, AnotherJobsCoordinatorIsRefused) {
  auto daemon = TestDaemon::Start({"--world-size", "1", "--job", "other"});
  auto rank = Process::Start({RankPath(), "all"},
                             {{"MUSTER_COORDINATOR", daemon->address()}, {"MUSTER_JOB", "mine"}});
  EXPECT_EQ(rank->Wait(), (Exit{false, kRankError}));
  EXPECT_THAT(rank->Output(), HasSubstr("this coordinator serves job 'other'"));
}

TEST(EndToEndTest, AConfiguredCoordinatorThatIsNotThereIsNeverSerialMode) {
  auto rank = Process::Start({RankPath(), "all"},
                             {{"MUSTER_COORDINATOR", "127.0.0.1:1"}, {"MUSTER_TIMEOUT", "500ms"}});
  EXPECT_EQ(rank->Wait(), (Exit{false, kRankError}));
  EXPECT_THAT(rank->Output(), AllOf(HasSubstr("connect"), HasSubstr("127.0.0.1:1")));
}

}  // namespace
}  // namespace muster::testing
