// The feed of the status page: how often it reads the job's status, and what it sends to viewers.

#include "server/web/page/status_feed.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace muster::web {
namespace {

using nlohmann::json;

// A feed of one job, on a clock that the test steps.
class StatusFeedTest : public ::testing::Test {
 protected:
  json Ask(const std::string& known = "") { return json::parse(feed_.Answer(known)); }

  absl::Duration now_ = absl::Seconds(5);
  absl::Duration sample_takes_;
  std::string content_ = R"("state":"running")";
  int looks_ = 0;
  StatusFeed feed_{0xabc, [this] { return now_; },
                   [this] {
                     ++looks_;
                     const absl::Duration at = now_;
                     now_ += sample_takes_;
                     return StatusFeed::Sample{at, content_};
                   }};
};

TEST_F(StatusFeedTest, ReturnsTheContentWithItsTime) {
  const json answer = Ask();
  EXPECT_EQ(answer["state"], "running");
  EXPECT_EQ(answer["now"], 5000);
  EXPECT_EQ(answer["poll"], 1000);
}

TEST_F(StatusFeedTest, ManyViewersCostOneSampleASecond) {
  for (int i = 0; i < 100; ++i) Ask();
  EXPECT_EQ(looks_, 1);
  now_ += absl::Milliseconds(999);
  Ask();
  EXPECT_EQ(looks_, 1);
  now_ += absl::Milliseconds(1);
  for (int i = 0; i < 100; ++i) Ask();
  EXPECT_EQ(looks_, 2);
}

TEST_F(StatusFeedTest, ReturnsTheCurrentTimeToo) {
  Ask();
  now_ += absl::Milliseconds(700);
  EXPECT_EQ(Ask()["now"], 5700);
  EXPECT_EQ(Ask()["at"], 5000);
}

TEST_F(StatusFeedTest, AKnownVersionIsNotSentAgain) {
  const std::string version = Ask()["version"];
  now_ += absl::Seconds(2);
  json answer = Ask(version);
  EXPECT_EQ(answer["version"], version);
  EXPECT_EQ(answer["now"], 7000);
  EXPECT_FALSE(answer.contains("state"));

  content_ = R"("state":"failed")";
  now_ += absl::Seconds(2);
  answer = Ask(version);
  EXPECT_NE(answer["version"], version);
  EXPECT_EQ(answer["state"], "failed");
}

TEST_F(StatusFeedTest, AVersionOfAnotherDaemonIsNotKnown) {
  const std::string version = Ask()["version"];
  StatusFeed other(
      0xdef, [this] { return now_; },
      [this] {
        return StatusFeed::Sample{now_, content_};
      });
  EXPECT_EQ(json::parse(other.Answer(version))["state"], "running");
}

TEST_F(StatusFeedTest, SlowSamplesAreTakenLessOften) {
  sample_takes_ = absl::Milliseconds(100);
  EXPECT_EQ(Ask()["poll"], 2000);
  now_ += absl::Milliseconds(1500);
  Ask();
  EXPECT_EQ(looks_, 1);
}

}  // namespace
}  // namespace muster::web
