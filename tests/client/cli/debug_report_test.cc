// Tests of what `muster debug` prints of an inquiry: each row belongs to the right rank.

#include "client/cli/inquire/debug_report.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kWide = 200;

template <typename Message>
Message Parsed(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

// Two containers of one host, whose processes have the same pids.
constexpr char kTwoContainers[] = R"pb(
  members {
    member { node_id: "n0" hostname: "h" pid: 1 }
    rank: 0
    waiting_in: "Barrier('a')"
  }
  members {
    member { node_id: "n0" hostname: "h" pid: 1 }
    rank: 1
    waiting_in: "Leave"
  }
)pb";

std::string Report(const std::string& inquiry, const std::string& status) {
  return DebugReport(Parsed<v1::GetInquiryResponse>(inquiry), Parsed<v1::GetStatusResponse>(status),
                     kWide);
}

TEST(DebugReportTest, RowsHaveTheCoordinatorsRanks) {
  const std::string report =
      Report(R"pb(
               reports {
                 launcher { id: "a" node: "n0" }
                 ranks { rank: 0 pid: 1 condition: PROCESS_CONDITION_SLEEPING call: "epoll_wait" }
               }
               reports {
                 launcher { id: "b" node: "n0" }
                 ranks { rank: 1 pid: 1 condition: PROCESS_CONDITION_STOPPED }
               }
             )pb",
             kTwoContainers);
  EXPECT_THAT(report, ContainsRegex("0 +n0 +1 +sleeps +in epoll_wait\\(\\) +Barrier\\('a'\\)"));
  EXPECT_THAT(report, ContainsRegex("1 +n0 +1 +stopped +Leave"));
}

TEST(DebugReportTest, WithoutRanksProcessesMatchByNodeAndPid) {
  constexpr char kSeen[] = R"pb(
    reports {
      launcher { id: "a" node: "n0" }
      ranks { pid: 1 condition: PROCESS_CONDITION_STOPPED }
    }
  )pb";
  EXPECT_THAT(Report(kSeen, R"pb(
                members {
                  member { node_id: "n0" hostname: "h" pid: 1 }
                  rank: 3
                  waiting_in: "Join"
                }
              )pb"),
              ContainsRegex("3 +n0 +1 +stopped +Join"));
  const std::string two = Report(kSeen, kTwoContainers);
  EXPECT_THAT(two, HasSubstr("stopped"));
  EXPECT_THAT(two, Not(HasSubstr("Barrier")));
  EXPECT_THAT(two, Not(HasSubstr("Leave")));
}

// Returns the hang of ranks 0 to `count` - 1, eight on a node, in the order in which the launchers
// answer. Rank 33 is reading.
v1::GetInquiryResponse Hang(int count) {
  v1::GetInquiryResponse inquiry;
  inquiry.mutable_inquiry()->set_verdict("rank 33 is in read()");
  for (int node = (count - 1) / 8; node >= 0; --node) {
    v1::LauncherReport& report = *inquiry.add_reports();
    report.mutable_launcher()->set_id(absl::StrCat("launcher ", node));
    report.mutable_launcher()->set_node(absl::StrCat("n", node));
    for (int rank = node * 8; rank < std::min(count, node * 8 + 8); ++rank) {
      v1::RankObservation& observation = *report.add_ranks();
      observation.set_rank(rank);
      observation.set_pid(1000 + rank);
      observation.set_condition(v1::PROCESS_CONDITION_SLEEPING);
      observation.set_call(rank == 33 ? "read" : "epoll_wait");
      observation.mutable_in_call_for()->set_seconds(10 + rank);
    }
  }
  return inquiry;
}

int LinesOf(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

TEST(DebugReportTest, ManyRanksThatDoTheSameShareARow) {
  const std::string report = DebugReport(Hang(512), {}, kWide);
  EXPECT_EQ(LinesOf(report), 5) << report;
  EXPECT_THAT(report,
              ContainsRegex("\n0-32,34-511 +64 nodes +511 processes +sleeps +in "
                            "epoll_wait\\(\\)\n33 +n4 +1033 +sleeps +in read\\(\\) for 43s\n"));
}

TEST(DebugReportTest, RanksMayWaitInTheStore) {
  const std::string report =
      Report(R"pb(
               reports {
                 launcher { id: "a" node: "n0" }
                 ranks { rank: 0 pid: 1 condition: PROCESS_CONDITION_SLEEPING }
                 ranks { rank: 1 pid: 2 condition: PROCESS_CONDITION_SLEEPING }
                 ranks { rank: 2 pid: 3 condition: PROCESS_CONDITION_SLEEPING }
               }
             )pb",
             R"pb(
               members { rank: 0 }
               members { rank: 1 waiting_in: "Barrier('a')" }
               members { rank: 2 }
               store_waits {
                 what: "key '\033k' has not been set"
                 ranks: [ 0, 1 ]
               }
             )pb");
  EXPECT_THAT(report,
              ContainsRegex("\n0 .* sleeps +the store \\(key '\\?k' has not been set\\)\n"));
  EXPECT_THAT(report, ContainsRegex("\n1 .* sleeps +Barrier\\('a'\\)\n")) << "the call comes first";
  EXPECT_THAT(report, ContainsRegex("\n2 .* sleeps *\n"));
}

TEST(DebugReportTest, FewRanksHaveARowEach) {
  const std::string report = DebugReport(Hang(16), {}, kWide);
  EXPECT_EQ(LinesOf(report), 3 + 16);
  EXPECT_THAT(report,
              ContainsRegex("\n7 +n0 +1007 .*\n8 +n1 +1008 +sleeps +in epoll_wait\\(\\) for 18s"));
}

TEST(DebugReportTest, TheBundleHasARowForEachRank) {
  const std::string report = FullDebugReport(Hang(512), {});
  EXPECT_EQ(LinesOf(report), 3 + 512);
  EXPECT_THAT(report, ContainsRegex("\n511 +n63 +1511 "));
}

TEST(DebugReportTest, OnlyTheFirstRowsAreShownIfAllDiffer) {
  v1::GetInquiryResponse inquiry = Hang(64);
  for (v1::LauncherReport& report : *inquiry.mutable_reports()) {
    for (v1::RankObservation& observation : *report.mutable_ranks()) {
      observation.set_target(absl::StrCat("socket ", observation.pid()));
    }
  }
  const std::string report = DebugReport(inquiry, {}, kWide);
  EXPECT_LE(LinesOf(report), 50);
  EXPECT_THAT(report, HasSubstr("\nand 24 more rows: verdict.txt"));
}

}  // namespace
}  // namespace muster::cli
