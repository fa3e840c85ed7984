// A node that the network no longer reaches. Two network namespaces represent two nodes, and a pair
// of virtual interfaces the cable between them.

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"
#include "tests/util/process/namespaces.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Args kShortTimeouts = {"--keepalive-time=1s", "--keepalive-timeout=3s",
                             "--member-grace=300ms"};

std::string NetworkOf(const std::string& process) {
  std::error_code ignored;
  return std::filesystem::read_symlink(absl::StrCat("/proc/", process, "/ns/net"), ignored)
      .string();
}

class CutOffNodeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { skip_reason_ = EnterNamespaces(CLONE_NEWNET); }

  void SetUp() override {
    if (!skip_reason_.empty()) GTEST_SKIP() << skip_reason_;
    far_ = Process::Start({"unshare", "--net", "sleep", "1000"});
    WaitUntil([this] { return NetworkOf(FarPid()) != NetworkOf("self") || !far_->Running(); });
    ConnectNodes();
    if (!skip_reason_.empty()) GTEST_SKIP() << skip_reason_;
  }

  void TearDown() override {
    if (skip_reason_.empty()) Sh("ip link del near");
  }

  std::string FarPid() const { return absl::StrCat(far_->pid()); }
  std::string OnFarNode() const { return absl::StrCat("nsenter --net --target ", FarPid(), " "); }

  // Connects 10.77.0.1 on this side with 10.77.0.2 on the far side.
  void ConnectNodes() {
    Sh("ip link set lo up");
    Sh(absl::StrCat("ip link add near type veth peer name far netns ", FarPid()));
    Sh("ip address add 10.77.0.1/24 dev near");
    Sh("ip link set near up");
    Sh(OnFarNode() + "ip link set lo up");
    Sh(OnFarNode() + "ip address add 10.77.0.2/24 dev far");
    Sh(OnFarNode() + "ip link set far up");
  }

  void Cut() { Sh("ip link set near down"); }

  // Waits until a packet has been retransmitted at least twice.
  bool AwaitLostPackets() const {
    return WaitUntil([&] { return std::max(SentInVain("self"), SentInVain(FarPid())) >= 2; });
  }

  // Returns how often in a row TCP has retransmitted (the seventh word of a connection's line), or
  // has probed a full window (the ninth). Takes the maximum over all connections of the process's
  // network.
  static int SentInVain(const std::string& process) {
    std::ifstream file(absl::StrCat("/proc/", process, "/net/tcp"));
    std::string line;
    int most = 0;
    for (std::getline(file, line); std::getline(file, line);) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (words.size() < 9) continue;
      most = std::max({most, std::stoi(words[6], nullptr, 16), std::stoi(words[8])});
    }
    return most;
  }

  void Reconnect() { Sh("ip link set near up"); }

  std::string Debug() const {
    auto debug = Process::Start({Runfile("client/cli/muster"), "debug", "--coordinator",
                                 absl::StrCat("10.77.0.1:", daemon_->port()), "--output",
                                 MakeTempDir(), "--wait=0s"});
    EXPECT_EQ(debug->Wait(), kSuccess) << debug->Output();
    return debug->Output();
  }

  // Runs a command. If it fails, its output says why the test cannot run here.
  void Sh(const std::string& command) {
    auto process = Process::Start({"sh", "-c", command});
    if (!(process->Wait() == kSuccess) && skip_reason_.empty()) {
      skip_reason_ = absl::StrCat("'", command, "' failed here: ", process->Output());
    }
  }

  // Starts four ranks; ranks 2 and 3 are on the far node. Returns when all have printed `mark`.
  void StartJob(const Args& daemon_flags, const Args& steps, const std::string& mark) {
    Args flags = {"--world-size=4", "--insecure"};
    flags.insert(flags.end(), daemon_flags.begin(), daemon_flags.end());
    daemon_ = TestDaemon::Start(flags, {}, "0.0.0.0:0");
    for (int node : {0, 1}) {
      Args command =
          LaunchCommand({absl::StrCat("--coordinator=10.77.0.1:", daemon_->port()),
                         "--nproc-per-node=2", "--nnodes=2", absl::StrCat("--node-rank=", node),
                         node == 0 ? "--node-id=near" : "--node-id=far"},
                        RankCommand(steps));
      if (node == 1) {
        const Args enter = {"nsenter", "--net", "--target", FarPid()};
        command.insert(command.begin(), enter.begin(), enter.end());
      }
      nodes_.push_back(Process::Start(command, {{"MUSTER_COORDINATOR_TIMEOUT", patience_}}));
    }
    for (auto& node : nodes_) ASSERT_TRUE(node->WaitForOutput(mark));
  }

  Args ReduceSteps() const {
    return {"connect", "reduce-until=" + gate_.path(), "barrier", "leave"};
  }

  static std::string skip_reason_;
  const Gate gate_;
  std::string patience_ = "1m";  // how long the ranks look for their coordinator
  std::unique_ptr<Process> far_;
  std::unique_ptr<TestDaemon> daemon_;
  std::vector<std::unique_ptr<Process>> nodes_;
};

std::string CutOffNodeTest::skip_reason_;

TEST_F(CutOffNodeTest, MissesNothingIfItReturnsInTime) {
  ASSERT_NO_FATAL_FAILURE(StartJob({}, ReduceSteps(), "has reduced"));
  Cut();
  ASSERT_TRUE(AwaitLostPackets());
  Reconnect();
  gate_.Open();
  for (auto& node : nodes_) EXPECT_EQ(node->Wait(), kSuccess) << node->Output();
}

TEST_F(CutOffNodeTest, IsLostAndBothSidesReportIt) {
  patience_ = "5s";
  ASSERT_NO_FATAL_FAILURE(StartJob(kShortTimeouts, ReduceSteps(), "has reduced"));
  Cut();
  EXPECT_EQ(nodes_[0]->Wait(), kRankError) << nodes_[0]->Output();
  EXPECT_EQ(CountOf(nodes_[0]->Output(), "error: ABORTED"), 2) << nodes_[0]->Output();
  EXPECT_THAT(nodes_[0]->Output(), AllOf(HasSubstr("(node 'far', host "), HasSubstr("was lost")));
  // The far side cannot know the loss. Its all-reduce ends when it gives up the coordinator.
  EXPECT_EQ(nodes_[1]->Wait(), kRankError) << nodes_[1]->Output();
  EXPECT_EQ(CountOf(nodes_[1]->Output(), "error: UNAVAILABLE"), 2) << nodes_[1]->Output();
  EXPECT_THAT(nodes_[1]->Output(), HasSubstr("could not reach the coordinator at 10.77.0.1:"));
}

// The verdict comes before the daemon closes the connections.
TEST_F(CutOffNodeTest, IsNamedInTheVerdict) {
  ASSERT_NO_FATAL_FAILURE(StartJob(
      {"--keepalive-timeout=30s"},
      {absl::StrCat("2:", gate_.wait()), absl::StrCat("3:", gate_.wait()), "barrier", "leave"},
      "begins "));
  ASSERT_TRUE(StatusReader(daemon_->address()).WaitForParked(2, "Barrier"));
  // While the node is connected, its launcher reports what its ranks are doing.
  EXPECT_TRUE(WaitUntil([&] { return Debug().find("no launcher") == std::string::npos; }));
  Cut();
  std::string verdict;  // the last answer, which may be one from before the cut
  ASSERT_TRUE(WaitUntil([&] {
    verdict = Debug();
    return verdict.find(
               "the launcher of node 'far' does not answer: the node is down, cut off from "
               "the network, or stopped") != std::string::npos;
  })) << verdict;
  EXPECT_THAT(verdict,
              AllOf(HasSubstr("(one of ranks 2-3) has not come to Barrier('in a barrier') op 0"),
                    HasSubstr("; 2 others wait for ")));
  Reconnect();
  gate_.Open();
  for (auto& node : nodes_) EXPECT_EQ(node->Wait(), kSuccess) << node->Output();
}

TEST_F(CutOffNodeTest, LearnsOnItsReturnThatItIsLost) {
  ASSERT_NO_FATAL_FAILURE(StartJob(kShortTimeouts, {"run-until-stopped"}, "is on its way"));
  Cut();
  EXPECT_EQ(nodes_[0]->Wait(), kRankError) << nodes_[0]->Output();
  Reconnect();
  EXPECT_EQ(nodes_[1]->Wait(), kRankError) << nodes_[1]->Output();
  EXPECT_THAT(nodes_[1]->Output(), AllOf(HasSubstr("ABORTED"), HasSubstr("was lost")));
}

}  // namespace
}  // namespace muster::testing
