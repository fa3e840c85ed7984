// The status as JSON, as the page's model.js reads it.

#include "server/web/page/status_json.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/server/core/harness.h"

namespace muster::web {
namespace {

using core::Harness;
using core::Process;
using nlohmann::json;
using ::testing::HasSubstr;

// The columns of a member's row, as model.js reads them.
enum Column { kRank, kNode, kLocal, kState, kHost, kPid, kLast, kWaitsIn, kWaitsSince };

class StatusJsonTest : public ::testing::Test {
 protected:
  StatusJsonTest() : harness_(Harness::DefaultOptions(3)), start_(harness_.now()) {}

  std::string Text() {
    core::Coordinator& coordinator = harness_.coordinator();
    const core::Time now = harness_.now();
    return StatusJson({coordinator.GetStatus(now), now, now - start_, coordinator.GetTimeline()},
                      coordinator.options(), /*refused_calls=*/4);
  }
  json Status() { return json::parse(absl::StrCat("{", Text(), "}")); }

  Harness harness_;
  const core::Time start_;
};

TEST_F(StatusJsonTest, ListsWaitsAndMissingRanks) {
  std::vector<Process> p = harness_.Formed(3);
  harness_.Advance(absl::Seconds(2));
  harness_.Barrier(p[1], "epoch 1");
  harness_.Advance(absl::Seconds(3));
  const json status = Status();
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(status["refused"], 4);
  const json& pending = status["pending"][0];
  EXPECT_EQ(pending["title"], "Barrier('epoch 1') op 0 of the world");
  EXPECT_EQ(pending["arrived"], json::parse("[[1,1]]"));
  EXPECT_EQ(pending["missing"], json::parse("[[0,0],[2,2]]"));
  EXPECT_EQ(pending["first"], 2000);
  const json& row = status["members"][1];
  EXPECT_EQ(row[kRank], 1);
  EXPECT_EQ(status["states"][row[kState].get<size_t>()], "running");
  EXPECT_EQ(status["texts"][row[kWaitsIn].get<size_t>()], pending["title"]);
  EXPECT_EQ(row[kWaitsSince], 2000);
  EXPECT_THAT(status["timeline"].back()[2], HasSubstr("formed: 3 members"));
}

TEST_F(StatusJsonTest, RowsSayWhatTheirRanksMissInTheStore) {
  core::JobStatus job;
  job.members.resize(2);
  for (core::MemberStatus& member : job.members) {
    member.missing_in_store = "key 'a' has not been set";
    member.in_store_for = absl::Seconds(2);
  }
  job.members[1].waiting_in = "Barrier of the world";
  job.members[1].waiting_for = absl::Seconds(1);
  const core::Time now = start_ + absl::Seconds(5);
  const json status = json::parse(absl::StrCat(
      "{", StatusJson({job, now, now - start_, {}}, harness_.coordinator().options(), 0), "}"));
  const auto wait_of = [&](const json& row) {
    return status["texts"][row[kWaitsIn].get<size_t>()].get<std::string>();
  };
  EXPECT_EQ(wait_of(status["members"][0]), "the store (key 'a' has not been set)");
  EXPECT_EQ(status["members"][0][kWaitsSince], 3000);
  EXPECT_EQ(wait_of(status["members"][1]), "Barrier of the world") << "the call comes first";
  EXPECT_EQ(status["members"][1][kWaitsSince], 4000);
}

TEST_F(StatusJsonTest, NamesTheNodesThatHaveLongIds) {
  EXPECT_EQ(Status()["nodeNames"], json::object());
  const std::string id = "vm/58b986b6-87fa-4517-80b6-85a31b2c8f77";
  harness_.Attached(id);
  harness_.Attached("n1");
  const json status = Status();
  EXPECT_EQ(status["nodeNames"], json({{id, "vm"}}));
  EXPECT_EQ(status["texts"][status["members"][0][1].get<size_t>()], id);
}

TEST_F(StatusJsonTest, IsStableWhileTheJobStandsStill) {
  std::vector<Process> p = harness_.Formed(3);
  harness_.Barrier(p[1], "epoch 1");
  harness_.Acquire(p[0], "unpack", 1);
  harness_.Acquire(p[2], "unpack", 1);
  harness_.Advance(absl::Seconds(1));
  const std::string before = Text();
  harness_.Advance(absl::Seconds(5));
  EXPECT_EQ(Text(), before);
  EXPECT_EQ(Status()["leases"][0]["waiters"], 1);
}

TEST_F(StatusJsonTest, ListsLossesWithTheirTimes) {
  std::vector<Process> p = harness_.Formed(3);
  harness_.Advance(absl::Seconds(7));
  harness_.ReportExit(p[2], /*signaled=*/true, 9);
  const json status = Status();
  EXPECT_EQ(status["state"], "failed");
  EXPECT_EQ(status["losses"][0]["rank"], 2);
  EXPECT_THAT(status["losses"][0]["cause"], HasSubstr("signal 9"));
  EXPECT_EQ(status["losses"][0]["when"], 7000);
  EXPECT_EQ(status["timeline"].back()[1], 2);
}

TEST_F(StatusJsonTest, InvalidUtf8AndMarkupBecomeText) {
  core::JobStatus job;
  job.members.resize(1);
  job.members[0].member.node_id = "<img src=x onerror=alert(1)>";
  job.members[0].member.hostname = "h\xff";
  job.members[0].waiting_in = "Barrier('\"</script>\n')";
  const std::string text =
      StatusJson({job, start_, absl::ZeroDuration(), {}}, harness_.coordinator().options(), 0);
  const json status = json::parse(absl::StrCat("{", text, "}"));
  const json& row = status["members"][0];
  EXPECT_EQ(status["texts"][row[kNode].get<size_t>()], job.members[0].member.node_id);
  EXPECT_EQ(status["texts"][row[kHost].get<size_t>()], "h\xef\xbf\xbd");
  EXPECT_EQ(status["texts"][row[kWaitsIn].get<size_t>()], job.members[0].waiting_in);
}

TEST_F(StatusJsonTest, HasTheVerdictOnceKnown) {
  core::JobStatus job;
  const auto verdict = [&] {
    const std::string text = StatusJson({job, start_ + absl::Seconds(9), absl::Seconds(9), {}},
                                        harness_.coordinator().options(), 0);
    return json::parse(absl::StrCat("{", text, "}"))["verdict"];
  };
  EXPECT_TRUE(verdict().is_null());
  job.inquiry.emplace();
  job.inquiry->open = true;
  EXPECT_TRUE(verdict().is_null());
  job.inquiry->verdict = "rank 3 is stopped";
  job.inquiry->age = absl::Seconds(4);
  EXPECT_EQ(verdict(), json::parse(R"({"text":"rank 3 is stopped","when":5000})"));
}

TEST_F(StatusJsonTest, ManyLeasesAreListedInPartAndCounted) {
  core::JobStatus job;
  for (int i = 0; i < 1000; ++i) {
    core::LeaseStatus lease;
    lease.name = absl::StrCat("lease ", i);
    lease.completed = i % 2 == 0;
    lease.waiters = 1;
    job.leases.push_back(lease);
  }
  const std::string text =
      StatusJson({job, start_, absl::ZeroDuration(), {}}, harness_.coordinator().options(), 0);
  const json status = json::parse(absl::StrCat("{", text, "}"));
  EXPECT_EQ(status["leases"].size(), 200u);
  EXPECT_EQ(status["unlistedLeases"], 300);
  EXPECT_EQ(status["completedLeases"], 500);
}

}  // namespace
}  // namespace muster::web
