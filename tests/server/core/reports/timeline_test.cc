// The timeline: which events it keeps and for how long, and what it leaves out.

#include "server/core/statistics/timeline.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::string> TextsOf(const std::vector<TimelineEntry>& entries) {
  std::vector<std::string> texts;
  for (const TimelineEntry& entry : entries) texts.push_back(entry.text);
  return texts;
}

TEST(TimelineTest, KeepsOnlyTheLatestEntries) {
  Timeline timeline;
  const Time start = absl::UnixEpoch();
  for (int i = 0; i < 1000; ++i) {
    timeline.Add(start + absl::Seconds(i), Severity::kInfo, absl::StrCat("thing ", i));
  }
  const std::vector<TimelineEntry> entries = timeline.Entries();
  ASSERT_THAT(entries, SizeIs(Timeline::kMaxEntries));
  EXPECT_EQ(entries.back().text, "thing 999");
  EXPECT_EQ(entries.back().when, start + absl::Seconds(999));
  EXPECT_EQ(entries.front().text, absl::StrCat("thing ", 1000 - Timeline::kMaxEntries));
}

TEST(TimelineTest, CutsLongTextsAndLeavesOutWhatIsForDebugging) {
  Timeline timeline;
  timeline.Add(absl::UnixEpoch(), Severity::kDebug, "detail");
  EXPECT_THAT(timeline.Entries(), IsEmpty());
  timeline.Add(absl::UnixEpoch(), Severity::kError, std::string(100'000, 'x'));
  EXPECT_THAT(timeline.Entries().at(0).text,
              AllOf(SizeIs(Le(Timeline::kMaxTextBytes + 3)), EndsWith("x...")));
}

TEST(TimelineTest, EventsOfEveryMemberDoNotEvictOtherEntries) {
  Timeline timeline;
  Time now = absl::UnixEpoch();
  timeline.Add(now, Severity::kInfo, "the start");
  for (int i = 1; i <= 10'000; ++i) {
    timeline.Add(now += absl::Milliseconds(1), Severity::kInfo, absl::StrCat("rank ", i), "join");
  }
  const std::vector<TimelineEntry> entries = timeline.Entries();
  ASSERT_THAT(entries, SizeIs(9));
  EXPECT_EQ(entries[0].text, "the start");
  EXPECT_EQ(entries[1].text, "rank 1");
  EXPECT_EQ(entries[8].text, "rank 10000 (the latest of 9993 of this kind)");
  EXPECT_EQ(entries[8].when, now);
}

TEST(TimelineTest, EventsOfOneKindThatAreFarApartAreAllKept) {
  Timeline timeline;
  for (int i = 0; i < 20; ++i) {
    timeline.Add(absl::UnixEpoch() + absl::Minutes(i), Severity::kInfo, "rank", "join");
  }
  EXPECT_THAT(timeline.Entries(), SizeIs(20));
}

TEST(TimelineTest, AMemberThatAttachesAgainAndAgainIsOneEntryWithACount) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const size_t before = h.coordinator().GetTimeline().size();
  for (int i = 0; i < 1000; ++i) {
    h.Advance(absl::Seconds(30));
    h.Attach(p[i % 2]);
    if (i % 10 == 0) h.Call(p[0], StopRequest());
  }
  const std::vector<TimelineEntry> timeline = h.coordinator().GetTimeline();
  ASSERT_EQ(timeline.size(), before + 3);  // both, and the first request to stop
  EXPECT_EQ(timeline.back().when, h.now());
  EXPECT_THAT(timeline.back().text,
              AllOf(StartsWith("rank 1 "), HasSubstr("attached again (the latest of 500 of")));
}

TEST(TimelineTest, EightOfManyReattachmentsAreKept) {
  Timeline timeline;
  Time now = absl::UnixEpoch();
  for (int i = 0; i < 1000; ++i) {
    timeline.Add(now += absl::Minutes(1), Severity::kInfo, absl::StrCat("rank ", i),
                 Timeline::kAttachedAgain);
    if (i < 100) timeline.Add(now, Severity::kWarning, absl::StrCat("something else ", i));
  }
  const std::vector<TimelineEntry> entries = timeline.Entries();
  ASSERT_THAT(entries, SizeIs(108));
  EXPECT_EQ(entries.back().text, "rank 999 (the latest of 993 of this kind)");
}

TEST(TimelineTest, TellsHowTheJobFormedWaitedAndFailed) {
  core::Options options = Harness::DefaultOptions(2);
  options.stall_warning = absl::Seconds(30);
  Harness h(options);
  const Time start = h.now();
  std::vector<Process> p = h.Formed(2);
  h.Call(p[0], StopRequest());
  h.Barrier(p[0], "epoch 1", absl::Minutes(10));
  h.Advance(absl::Seconds(31));
  h.ReportExit(p[1], /*signaled=*/true, 9);
  const std::vector<TimelineEntry> timeline = h.coordinator().GetTimeline();
  EXPECT_THAT(TextsOf(timeline),
              ElementsAre(HasSubstr("has come: 1 of 2"), HasSubstr("has come: 2 of 2"),
                          HasSubstr("formed: 2 members"), HasSubstr("asks all ranks to stop"),
                          AllOf(HasSubstr("Barrier('epoch 1')"), HasSubstr("has waited 30s")),
                          AllOf(HasSubstr("the job has failed: rank 1"), HasSubstr("signal 9"))));
  EXPECT_EQ(timeline[2].severity, Severity::kInfo);
  EXPECT_EQ(timeline[4].severity, Severity::kWarning);
  EXPECT_EQ(timeline[4].when, start + absl::Seconds(30));
  EXPECT_EQ(timeline[5].severity, Severity::kError);
  EXPECT_EQ(timeline[5].when, start + absl::Seconds(31));
}

}  // namespace
}  // namespace muster::core
