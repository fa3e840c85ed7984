// A machine is about to be taken away, and announces it with SIGTERM.

#include <signal.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

// Returns the rest of the line after `mark`.
std::string After(const std::string& mark, const std::string& output) {
  const size_t at = output.find(mark);
  if (at == std::string::npos) return "nothing";
  const size_t begin = at + mark.size();
  return output.substr(begin, output.find('\n', begin) - begin);
}

class PreemptionTest : public ::testing::Test {
 protected:
  void Start() {
    ranks_ = StartRanks(daemon_->address(), 3, {"run-until-stopped", "leave"});
    for (auto& rank : ranks_) ASSERT_TRUE(rank->WaitForOutput("is on its way"));
  }

  void ExpectOneStep() {
    ExpectExits(ranks_, kSuccess);
    const std::string step = After("stops at step ", ranks_[0]->Output());
    EXPECT_NE(step, "nothing") << ranks_[0]->Output();
    for (auto& rank : ranks_) EXPECT_EQ(After("stops at step ", rank->Output()), step);
  }

  const std::unique_ptr<TestDaemon> daemon_ = TestDaemon::Start({"--world-size=3"});
  std::vector<std::unique_ptr<Process>> ranks_;
};

TEST_F(PreemptionTest, SigtermOnOneRankStopsAllAtTheSameStep) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ranks_[1]->Signal(SIGTERM);
  ExpectOneStep();
}

TEST_F(PreemptionTest, SigtermOnTwoRanksStopsAllAtTheSameStep) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ranks_[1]->Signal(SIGTERM);
  ranks_[2]->Signal(SIGTERM);
  ExpectOneStep();
}

TEST_F(PreemptionTest, SurvivesADaemonRestart) {
  ASSERT_NO_FATAL_FAILURE(Start());
  daemon_->Kill();
  ranks_[1]->Signal(SIGTERM);
  daemon_->Restart();
  ExpectOneStep();
}

}  // namespace
}  // namespace muster::testing
