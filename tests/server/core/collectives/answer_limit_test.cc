// Answers that are too large: all ranks are refused, and an answer counts as held beside its
// payloads.

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/api/answer_size.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kAllGather = CollectiveKind::kAllGather;
constexpr auto kGather = CollectiveKind::kGather;
constexpr auto kBarrier = CollectiveKind::kBarrier;

// Returns options under which an answer for `size` ranks fits exactly `bytes` of payloads.
core::Options Fitting(uint32_t size, uint64_t bytes) {
  core::Options options = Harness::DefaultOptions(size);
  options.limits.max_answer_bytes = AnswerBytes(bytes, size);
  options.limits.max_payload_bytes = bytes;
  return options;
}

core::Options Holding(uint32_t size, uint64_t held) {
  core::Options options = Harness::DefaultOptions(size);
  options.limits.max_held_bytes = held;
  return options;
}

class AnswerLimitTest : public ::testing::Test {
 protected:
  void Start(const core::Options& options) {
    h_ = std::make_unique<Harness>(options);
    p_ = h_->Formed(options.world_size);
  }
  WaiterId Send(uint32_t rank, uint64_t sequence, size_t bytes, uint32_t refusals,
                CollectiveKind kind = kAllGather) {
    p_[rank].next[""] = sequence;
    CollectiveRequest request = h_->Request(p_[rank], kind, std::string(bytes, 'a' + rank));
    request.refusals = refusals;
    return h_->Send(request);
  }
  absl::StatusCode CodeOf(WaiterId id) const { return h_->StatusOf(id).code(); }
  std::string Text(WaiterId id) const { return std::string(h_->StatusOf(id).message()); }

  std::unique_ptr<Harness> h_;
  std::vector<Process> p_;
};

TEST_F(AnswerLimitTest, ALateRankIsRefusedEvenAfterTheOthersHaveLeft) {
  Start(Fitting(3, 10));
  Send(0, 0, 6, 0);
  EXPECT_EQ(CodeOf(Send(1, 0, 6, 0)), absl::StatusCode::kOutOfRange);
  h_->Leave(p_[0]);
  EXPECT_EQ(CodeOf(Send(2, 0, 1, 0)), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(CodeOf(Send(2, 0, 1, 1)), absl::StatusCode::kFailedPrecondition);
}

TEST_F(AnswerLimitTest, TheArrivalThatMakesItTooLargeIsRefusedWithAllOthers) {
  for (CollectiveKind kind : {kAllGather, kGather}) {
    Start(Fitting(3, 25));
    const std::vector<WaiterId> calls = {Send(0, 0, 9, 0, kind), Send(1, 0, 6, 0, kind),
                                         Send(2, 0, 11, 0, kind)};
    for (WaiterId id : calls) {
      EXPECT_EQ(CodeOf(id), absl::StatusCode::kOutOfRange);
      EXPECT_THAT(Text(id), AllOf(HasSubstr("op 0 of the world is refused for all its ranks"),
                                  HasSubstr(absl::StrCat("has ", AnswerBytes(26, 3), " bytes")),
                                  HasSubstr(absl::StrCat("limit is ", AnswerBytes(25, 3))),
                                  HasSubstr("musterd --max-answer-bytes"),
                                  HasSubstr("rank 2 (11 bytes), rank 0 (9 bytes), rank 1")));
    }
    const std::vector<WaiterId> again = {Send(0, 0, 9, 1, kind), Send(1, 0, 6, 1, kind),
                                         Send(2, 0, 10, 1, kind)};
    for (WaiterId id : again) EXPECT_TRUE(h_->StatusOf(id).ok()) << h_->StatusOf(id);
  }
}

TEST_F(AnswerLimitTest, AnythingMayBeCalledAfterARefusal) {
  Start(Fitting(2, 10));
  Send(0, 0, 8, 0);
  Send(1, 0, 8, 0);
  const WaiterId b0 = Send(0, 0, 0, 1, kBarrier), b1 = Send(1, 0, 0, 1, kBarrier);
  EXPECT_TRUE(h_->StatusOf(b0).ok() && h_->StatusOf(b1).ok());
  const WaiterId next = Send(0, 1, 8, 0);
  EXPECT_TRUE(h_->Parked(next)) << "refusals are counted anew";
}

TEST_F(AnswerLimitTest, LateArrivalsAndRetriesGetTheSameRefusal) {
  Start(Fitting(3, 25));
  Send(0, 0, 15, 0);
  const std::string text = Text(Send(1, 0, 15, 0));
  const WaiterId again = Send(0, 0, 5, 1);
  EXPECT_EQ(Text(Send(2, 0, 1, 0)), text) << "it would fit now, but rank 2 means another call";
  EXPECT_EQ(Text(Send(1, 0, 15, 0)), text) << "its answer was lost";
  EXPECT_TRUE(h_->Parked(again));
  Send(1, 0, 5, 1);
  Send(2, 0, 5, 1);
  EXPECT_THAT(h_->PayloadsOf(again), ElementsAre("aaaaa", "bbbbb", "ccccc"));
}

TEST_F(AnswerLimitTest, AWithdrawnContributionStillCounts) {
  Start(Fitting(2, 10));
  h_->Cancel(Send(0, 0, 8, 0));
  EXPECT_EQ(CodeOf(Send(1, 0, 8, 0)), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(CodeOf(Send(0, 0, 8, 0)), absl::StatusCode::kOutOfRange);
}

TEST_F(AnswerLimitTest, ADisagreementIsReportedDespiteTheLimit) {
  Start(Fitting(2, 10));
  Send(0, 0, 8, 0, kGather);
  EXPECT_THAT(Text(Send(1, 0, 8, 0)), HasSubstr("ranks disagree"));
}

TEST_F(AnswerLimitTest, AnUnknownRefusalCountIsRefused) {
  Start(Fitting(2, 10));
  EXPECT_EQ(CodeOf(Send(0, 0, 1, 1)), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(h_->Parked(Send(0, 0, 1, 0)));
}

TEST_F(AnswerLimitTest, ARestartedCoordinatorHearsOfTheRefusalFromTheCalls) {
  Start(Fitting(3, 25));
  h_->Restart();
  for (Process& process : p_) h_->Recover(process, 4);
  const WaiterId unaware = Send(0, 4, 15, 0);
  EXPECT_TRUE(h_->Parked(unaware));
  const WaiterId aware = Send(1, 4, 5, 1);
  EXPECT_EQ(CodeOf(unaware), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Text(unaware), AllOf(HasSubstr("before the coordinator was restarted"),
                                   HasSubstr("rank 1"), HasSubstr("--max-answer-bytes")));
  EXPECT_EQ(CodeOf(Send(2, 4, 5, 0)), absl::StatusCode::kOutOfRange);
  Send(0, 4, 5, 1);
  Send(2, 4, 5, 1);
  EXPECT_THAT(h_->PayloadsOf(aware), ElementsAre("aaaaa", "bbbbb", "ccccc"));
}

TEST_F(AnswerLimitTest, ALoweredLimitDoesNotRefuseACompletedCollective) {
  Start(Fitting(2, 10));
  h_->Restart();
  h_->Recover(p_[0], 5);
  h_->Recover(p_[1], 4);
  const WaiterId late = Send(1, 4, 8, 0);
  Send(0, 4, 8, 0);
  EXPECT_THAT(h_->PayloadsOf(late), ElementsAre("aaaaaaaa", "bbbbbbbb"));
}

TEST_F(AnswerLimitTest, RefusedPayloadsAreNotHeld) {
  core::Options options = Fitting(2, 10);
  options.limits.max_held_bytes = 32;
  Start(options);
  for (uint32_t refusals = 0; refusals < 20; ++refusals) {
    Send(0, 0, 8, refusals);
    ASSERT_EQ(CodeOf(Send(1, 0, 8, refusals)), absl::StatusCode::kOutOfRange);
  }
}

TEST_F(AnswerLimitTest, TheAnswerIsHeldBesideItsPayloads) {
  Start(Holding(2, 40));
  const WaiterId waits = Send(0, 0, 10, 0);
  const WaiterId over = Send(1, 0, 11, 0);
  EXPECT_EQ(CodeOf(over), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(over), HasSubstr("--max-held-bytes"));
  EXPECT_TRUE(h_->Parked(waits)) << "the other one may come again";
  EXPECT_TRUE(h_->StatusOf(Send(1, 0, 10, 0)).ok());
  EXPECT_TRUE(h_->StatusOf(waits).ok());
}

TEST_F(AnswerLimitTest, TheAnswerIsReleasedWithItsCollective) {
  Start(Holding(2, 40));
  for (uint64_t sequence = 0; sequence < 20; sequence += 2) {
    Send(0, sequence, 10, 0);
    ASSERT_TRUE(h_->StatusOf(Send(1, sequence, 10, 0)).ok()) << sequence;
    Send(0, sequence + 1, 0, 0, kBarrier);
    ASSERT_TRUE(h_->StatusOf(Send(1, sequence + 1, 0, 0, kBarrier)).ok());
  }
}

TEST_F(AnswerLimitTest, AllRanksShareOneAnswer) {
  Start(Holding(2, 1000));
  const WaiterId a = Send(0, 0, 10, 0), b = Send(1, 0, 10, 0);
  const auto payloads = [&](WaiterId id) {
    return std::get<CollectiveAnswer>(h_->ReplyTo(id).answer).payloads;
  };
  EXPECT_EQ(payloads(a), payloads(b));
}

// A collective that some rank has completed is not refused for good to the others.
TEST_F(AnswerLimitTest, AContributionForWhichThereIsNoRoomIsAskedForAgain) {
  Start(Holding(2, 30));
  h_->Restart();
  h_->Recover(p_[0], 5);
  h_->Recover(p_[1], 4);
  const WaiterId late = Send(1, 4, 10, 0);
  const WaiterId blocking = Send(0, 5, 6, 0);
  EXPECT_EQ(CodeOf(Send(0, 4, 8, 0)), absl::StatusCode::kUnavailable) << "8, and 18 once more";
  EXPECT_TRUE(h_->Parked(late) && h_->Parked(blocking));
  EXPECT_EQ(CodeOf(Send(0, 4, 1, 0)), absl::StatusCode::kOk);
  EXPECT_THAT(h_->PayloadsOf(late), ElementsAre("a", std::string(10, 'b')));
}

TEST_F(AnswerLimitTest, OptionsAreValidated) {
  core::Options options = Harness::DefaultOptions(2);
  options.limits.max_answer_bytes = kMaxMessageBytes;
  EXPECT_TRUE(options.Validate().ok()) << options.Validate();
  ++options.limits.max_answer_bytes;
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("--max-answer-bytes"));
  options = Fitting(1, 100);
  EXPECT_TRUE(options.Validate().ok()) << options.Validate();
  ++options.limits.max_payload_bytes;
  EXPECT_THAT(std::string(options.Validate().message()),
              AllOf(HasSubstr("--max-payload-bytes 101"), HasSubstr("--max-answer-bytes")));
}

// ---- Random schedules: lost answers, repetitions and restarts ----

// A rank, as an SDK keeps it. At each number it first sends a payload that is too large, as often
// as the plan says, and then a small one. The small one would fit beside the large payloads of the
// others.
struct Rank {
  uint64_t step = 0;
  uint32_t refusals = 0;
  uint32_t refusals_before = 0;  // at the number before
  WaiterId call = 0;
  size_t asked = 0;  // the number of events of its stream that it has seen
  std::vector<std::vector<std::string>> answers;
};

class RefusalSchedule {
 public:
  explicit RefusalSchedule(unsigned seed) : random_(seed), h_(Fitting(kRanks, 100)) {
    p_ = h_.Formed(kRanks);
  }

  void Run() {
    for (int i = 0; i < 20'000 && !Done(); ++i) Step();
    for (const Rank& rank : ranks_) {
      ASSERT_EQ(rank.step, kSteps);
      EXPECT_EQ(rank.answers, Expected());
    }
  }

 private:
  static constexpr uint32_t kRanks = 3;
  static constexpr uint64_t kSteps = 6;

  static uint32_t TooLargeAt(uint64_t step) { return step % 3; }
  static std::string Content(uint32_t rank, uint64_t step, uint32_t refusals) {
    const size_t bytes = refusals < TooLargeAt(step) ? 45 : 10;
    return absl::StrCat(rank, "/", step, "/", refusals, std::string(bytes - 5, '.'));
  }
  static std::vector<std::vector<std::string>> Expected() {
    std::vector<std::vector<std::string>> answers(kSteps);
    for (uint64_t step = 0; step < kSteps; ++step) {
      for (uint32_t r = 0; r < kRanks; ++r) {
        answers[step].push_back(Content(r, step, TooLargeAt(step)));
      }
    }
    return answers;
  }
  bool Chance(double p) { return std::bernoulli_distribution(p)(random_); }
  bool Done() const {
    return std::all_of(ranks_, ranks_ + kRanks, [](const Rank& r) { return r.step == kSteps; });
  }

  void Step() {
    const uint32_t r = std::uniform_int_distribution<uint32_t>(0, kRanks - 1)(random_);
    if (Chance(0.01)) return Restart();
    Contribute(r);
    Rank& rank = ranks_[r];
    if (rank.call == 0) {
      if (rank.step < kSteps) rank.call = Send(r, rank.step, rank.refusals);
    } else if (!h_.Parked(rank.call)) {
      const WaiterId call = std::exchange(rank.call, 0);
      if (!Chance(0.3)) Take(r, call);  // else the answer is lost
    } else if (Chance(0.1)) {
      h_.Cancel(std::exchange(rank.call, 0));
    }
  }

  void Take(uint32_t r, WaiterId call) {
    Rank& rank = ranks_[r];
    const absl::Status status = h_.StatusOf(call);
    if (absl::IsOutOfRange(status)) ++rank.refusals;
    if (!status.ok()) {
      EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
      return;
    }
    rank.answers.push_back(h_.PayloadsOf(call));
    ++rank.step;
    rank.refusals_before = std::exchange(rank.refusals, 0);
  }

  WaiterId Send(uint32_t r, uint64_t step, uint32_t refusals) {
    p_[r].next[""] = step;
    CollectiveRequest request = h_.Request(p_[r], kAllGather, Content(r, step, refusals));
    request.refusals = refusals;
    return h_.Send(request);
  }

  void Contribute(uint32_t r) {
    const auto needs = h_.Events<NeedContribution>(p_[r].stream);
    for (; ranks_[r].asked < needs.size(); ++ranks_[r].asked) {
      const uint64_t step = needs[ranks_[r].asked].sequence;
      if (step + 1 == ranks_[r].step) Send(r, step, ranks_[r].refusals_before);
    }
  }

  void Restart() {
    h_.Restart();
    for (uint32_t r = 0; r < kRanks; ++r) {
      h_.Recover(p_[r], ranks_[r].step);
      ranks_[r].call = 0;
      ranks_[r].asked = 0;
    }
  }

  std::mt19937 random_;
  Harness h_;
  std::vector<Process> p_;
  Rank ranks_[kRanks];
};

TEST(AnswerLimitScheduleTest, NoRankCompletesARefusedCollective) {
  for (unsigned seed = 0; seed < 300 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RefusalSchedule(seed).Run();
  }
}

}  // namespace
}  // namespace muster::core
