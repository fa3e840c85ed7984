// Tests of the slots of a group, one call at a time, and of content that no member should have
// written.

#include "client/src/node/fan_in_slots.h"

#include <memory>
#include <string>
#include <vector>

#include "client/src/node/fan_in_round.h"
#include "client/src/node/futex.h"
#include "gtest/gtest.h"

namespace muster::internal {
namespace {

constexpr size_t kWords = 32;

struct Memory {
  SlotFutex word{0};
  SharedWord content[kWords] = {};
  SharedWord result[kWords] = {};
};

class FanInSlotsTest : public ::testing::Test {
 protected:
  explicit FanInSlotsTest(SharedWord* commits = nullptr) {
    SharedGroup group;
    group.bell = &bell_;
    group.commits = commits;
    for (Memory& m : memory_) {
      group.slots.push_back({&m.word, {m.content, kWords}, {m.result, kWords}});
    }
    for (uint32_t m = 0; m < 3; ++m) {
      members_.push_back(
          std::make_unique<FanInSlots<SharedFutex>>(group, std::vector<uint32_t>{0, 1, 2}, m));
    }
  }

  FanInSlots<SharedFutex>& at(uint32_t m) { return *members_[m]; }
  static Contribution Of(uint64_t sequence, const std::string& payload = "") {
    Contribution c;
    c.sequence = sequence;
    c.call = "barrier";
    c.payload = payload;
    return c;
  }

  std::vector<Memory> memory_{3};
  SlotFutex bell_{0};
  std::vector<std::unique_ptr<FanInSlots<SharedFutex>>> members_;
};

TEST_F(FanInSlotsTest, TheSenderGetsAllPostedArrivals) {
  ASSERT_TRUE(at(0).Post(Of(7, "zero")) && at(2).Post(Of(7, "two")));
  EXPECT_TRUE(at(0).MoreMayArrive(7));
  ASSERT_TRUE(at(1).Post(Of(7, "one")));
  EXPECT_FALSE(at(0).MoreMayArrive(7));
  const std::vector<TakenPart> parts = at(1).Take(7);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].contribution.payload, "one") << "its own comes first";
  EXPECT_EQ(parts[1].contribution.payload, "zero");
  EXPECT_TRUE(at(0).Take(7).empty()) << "its own is taken, so it takes nothing";
  at(1).Publish(parts, {0, 1}, {7, "done"});
  std::optional<Result> result;
  EXPECT_TRUE(at(0).TakeAnswer(at(0).OwnWord(), 7, &result));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->answer, "done");
  EXPECT_EQ(at(2).OwnWord().state, SlotState::kReleased) << "it is not among the completed";
}

TEST_F(FanInSlotsTest, OnlyEqualCallsAreTaken) {
  Contribution other_call = Of(7);
  other_call.call = "gather";
  ASSERT_TRUE(at(0).Post(Of(7)) && at(1).Post(other_call) && at(2).Post(Of(8)));
  EXPECT_EQ(at(0).Take(7).size(), 1u);
  EXPECT_EQ(at(1).OwnWord().state, SlotState::kReleased);
  EXPECT_EQ(at(2).OwnWord().state, SlotState::kArrived);
}

TEST_F(FanInSlotsTest, AnotherDaemonsSessionsAreNotMixed) {
  Contribution before = Of(7);
  before.daemon_instance = 1;
  ASSERT_TRUE(at(0).Post(Of(7)) && at(1).Post(before));
  EXPECT_EQ(at(0).Take(7).size(), 1u);
}

// Numbers with equal low bits still differ in the content.
TEST_F(FanInSlotsTest, WholeNumbersAreCompared) {
  ASSERT_TRUE(at(0).Post(Of(7)) && at(1).Post(Of(7 + SlotWord::kSequences)));
  EXPECT_EQ(at(0).Take(7).size(), 1u);
}

TEST_F(FanInSlotsTest, ARevokedArrivalIsNotAnswered) {
  ASSERT_TRUE(at(0).Post(Of(7)) && at(1).Post(Of(7)));
  const std::vector<TakenPart> parts = at(0).Take(7);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(at(1).Revoke().state, SlotState::kTaken) << "it may have been sent";
  at(0).Publish(parts, {0, 1}, {7, "done"});
  EXPECT_EQ(at(1).OwnWord().state, SlotState::kEmpty);
  ASSERT_TRUE(at(1).Post(Of(7)));
  at(0).Release(parts);
  EXPECT_EQ(at(1).OwnWord().state, SlotState::kArrived) << "a later post is another one";
}

TEST_F(FanInSlotsTest, TooLargeContentsAreNotPostedOrPublished) {
  const size_t capacity = (kWords - 1) * sizeof(uint64_t);
  EXPECT_FALSE(at(0).Post(Of(7, std::string(capacity, 'x'))));
  EXPECT_EQ(at(0).OwnWord().state, SlotState::kEmpty);
  ASSERT_TRUE(at(0).Post(Of(7)) && at(1).Post(Of(7)));
  const std::vector<TakenPart> parts = at(0).Take(7);
  at(0).Publish(parts, {0, 1}, {7, std::string(capacity, 'x')});
  EXPECT_EQ(at(1).OwnWord().state, SlotState::kReleased);
}

// ---- Collectives that complete on the node ----

struct Commits {
  SharedWord commits{0};
};

class FanInCommitTest : private Commits, public FanInSlotsTest {
 protected:
  FanInCommitTest() : FanInSlotsTest(&commits) {}

  std::vector<TakenPart> PostAndTake(uint64_t sequence, uint32_t sender) {
    for (uint32_t m = 0; m < 3; ++m) EXPECT_TRUE(at(m).Post(Of(sequence)));
    return at(sender).Take(sequence);
  }
  // Takes the answer that was published in the member's slot.
  std::string AnswerOf(uint32_t m, uint64_t sequence) {
    std::optional<Result> result;
    if (at(m).OwnWord().state != SlotState::kAnswered) return "no answer";
    EXPECT_TRUE(at(m).TakeAnswer(at(m).OwnWord(), sequence, &result));
    return result ? result->answer : "no result";
  }
  std::string CommittedOf(uint32_t m, uint64_t sequence) {
    const std::optional<Result> result = at(m).TakeCommitted(sequence);
    return result ? result->answer : "not committed";
  }
  void SetCommits(uint64_t bits) { commits = bits; }
};

TEST_F(FanInCommitTest, ACommitAnswersAllMembers) {
  for (uint64_t sequence = 0; sequence < 3; ++sequence) {
    const uint32_t sender = sequence % 2;
    const std::vector<TakenPart> parts = PostAndTake(sequence, sender);
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_TRUE(at(sender).Commit(parts, {sequence, "done"}));
    EXPECT_EQ(AnswerOf(1 - sender, sequence), "done");
    EXPECT_EQ(AnswerOf(2, sequence), "done");
    at(sender).Revoke();
  }
}

TEST_F(FanInCommitTest, ARevokedArrivalIsNotCommitted) {
  const std::vector<TakenPart> parts = PostAndTake(7, 0);
  at(2).Revoke();
  EXPECT_EQ(CommittedOf(2, 7), "not committed");
  EXPECT_FALSE(at(0).Commit(parts, {7, "done"}));
  EXPECT_EQ(at(1).OwnWord().state, SlotState::kTaken) << "the sender releases it";
  at(0).Release(parts);
  EXPECT_EQ(at(1).OwnWord().state, SlotState::kReleased);
}

TEST_F(FanInCommitTest, ARepeatedArrivalIsNotCommittedWithTheOldOnes) {
  const std::vector<TakenPart> parts = PostAndTake(7, 0);
  at(2).Revoke();
  EXPECT_EQ(CommittedOf(2, 7), "not committed");
  ASSERT_TRUE(at(2).Post(Of(7)));
  EXPECT_FALSE(at(0).Commit(parts, {7, "done"}));
  EXPECT_EQ(at(2).OwnWord().state, SlotState::kArrived);
}

TEST_F(FanInCommitTest, ARevocationAfterTheCommitFindsTheResult) {
  const std::vector<TakenPart> parts = PostAndTake(7, 0);
  EXPECT_TRUE(at(0).Commit(parts, {7, "done"}));
  EXPECT_EQ(at(1).Revoke().state, SlotState::kAnswered);
  EXPECT_EQ(CommittedOf(1, 7), "done");
  EXPECT_EQ(CommittedOf(1, 7), "done") << "however often it looks";
  EXPECT_EQ(CommittedOf(1, 8), "not committed") << "that is of another number";
}

TEST_F(FanInCommitTest, AnArrivalThatNoSenderHasTakenPreventsNoCommit) {
  ASSERT_TRUE(at(2).Post(Of(6)));
  at(2).Revoke();
  const std::vector<TakenPart> parts = PostAndTake(7, 0);
  EXPECT_TRUE(at(0).Commit(parts, {7, "done"}));
}

TEST_F(FanInCommitTest, AResultThatDoesNotFitIsNotCommitted) {
  const std::vector<TakenPart> parts = PostAndTake(7, 0);
  EXPECT_FALSE(at(0).Commit(parts, {7, std::string(kWords * 8, 'x')}));
  at(1).Revoke();
  EXPECT_EQ(CommittedOf(1, 7), "not committed");
}

TEST_F(FanInSlotsTest, WithoutACommitWordNothingIsCommitted) {
  for (uint32_t m = 0; m < 3; ++m) ASSERT_TRUE(at(m).Post(Of(7)));
  const std::vector<TakenPart> parts = at(0).Take(7);
  EXPECT_FALSE(at(0).Commit(parts, {7, "done"}));
  EXPECT_FALSE(at(0).TakeCommitted(7).has_value());
}

TEST_F(FanInCommitTest, ChangesWrapAround) {
  const CommitWord last{false, 0, CommitWord::kChanges - 1, 0};
  SetCommits(last.bits());
  const std::vector<TakenPart> parts = PostAndTake(7, 0);
  at(2).Revoke();
  EXPECT_EQ(CommittedOf(2, 7), "not committed");
  EXPECT_FALSE(at(0).Commit(parts, {7, "done"}));
}

TEST(CommitWordTest, HasRoomForEveryField) {
  const CommitWord word = CommitWord{true, 255, CommitWord::kChanges - 1, ~0u};
  const CommitWord read = CommitWord::Of(word.bits());
  EXPECT_TRUE(read.has_commit && read.by == 255 && read.changes == CommitWord::kChanges - 1 &&
              read.number == ~0u);
  EXPECT_EQ(word.bits(), ~uint64_t{0});
  EXPECT_EQ(word.Changed().changes, 0u);
  EXPECT_TRUE(word.IsCommitOf(~uint64_t{0}));
  EXPECT_FALSE(CommitWord().IsCommitOf(0)) << "nothing is committed at first";
}

// The round gives the answer of a commit to a member, however its own wait has ended.
TEST_F(FanInCommitTest, ARoundEndsWithTheCommittedAnswer) {
  FanInRound<SharedFutex> late(&at(1), {});
  FanInRound<SharedFutex> revoked(&at(2), {});
  ASSERT_TRUE(at(0).Post(Of(7)));
  ASSERT_TRUE(late.Begin(Of(7), SharedFutex::Now() - 1));  // its deadline has passed
  ASSERT_TRUE(revoked.Begin(Of(7), SharedFutex::Now() + 1'000'000'000));
  const std::vector<TakenPart> parts = at(0).Take(7);
  ASSERT_EQ(parts.size(), 3u);
  at(2).Revoke();  // as another thread of the member
  EXPECT_TRUE(at(0).Commit(parts, {7, "done"})) << "the member has not looked yet";
  for (FanInRound<SharedFutex>* round : {&late, &revoked}) {
    const FanInEnd end = round->Run([](const auto&) { return std::nullopt; });
    EXPECT_EQ(end.kind, FanInEnd::kAnswered);
    EXPECT_EQ(end.answer, "done");
  }
}

// As after the death of a sender between its commit and the publication.
TEST_F(FanInCommitTest, AtItsDeadlineAMemberTakesAnUnpublishedCommit) {
  FanInRound<SharedFutex> round(&at(1), {});
  ASSERT_TRUE(at(0).Post(Of(7)) && at(2).Post(Of(7)));
  ASSERT_TRUE(round.Begin(Of(7), SharedFutex::Now() - 1));
  ASSERT_EQ(at(0).Take(7).size(), 3u);
  SharedBytes(memory_[0].result, kWords).Write(EncodeResult(Result{7, "done"}), [] {});
  SetCommits(CommitWord{true, 0, 0, 7}.bits());
  const FanInEnd end = round.Run([](const auto&) { return std::nullopt; });
  EXPECT_EQ(end.kind, FanInEnd::kAnswered);
  EXPECT_EQ(end.answer, "done");
}

TEST_F(FanInCommitTest, ASendersRoundCompletesOnlyWithAllParts) {
  const auto on_node = [](const auto&) { return Delivery{{}, "done", /*on_node=*/true}; };
  FanInRound<SharedFutex> round(&at(0), {});
  for (const bool all : {false, true}) {
    const uint64_t sequence = all ? 8 : 7;
    ASSERT_TRUE(at(1).Post(Of(sequence)));
    if (all) {
      ASSERT_TRUE(at(2).Post(Of(sequence)));
    }
    ASSERT_TRUE(round.Begin(Of(sequence), SharedFutex::Now() + 1'000'000'000));
    const FanInEnd end = round.Run(on_node);
    EXPECT_EQ(end.kind, all ? FanInEnd::kAnswered : FanInEnd::kCallAlone);
    EXPECT_EQ(at(0).OwnWord().state, SlotState::kEmpty);
    EXPECT_EQ(at(1).Revoke().state, all ? SlotState::kAnswered : SlotState::kReleased);
  }
}

// ---- A member that breaks the rules ----

TEST_F(FanInCommitTest, AMalformedCommitIsNoAnswer) {
  SetCommits(CommitWord{true, 200, 0, 7}.bits());
  EXPECT_EQ(CommittedOf(0, 7), "not committed") << "there is no such member";
  SetCommits(CommitWord{true, 1, 0, 7}.bits());
  EXPECT_EQ(CommittedOf(0, 7), "not committed") << "nothing was ever written there";
  SharedBytes(memory_[1].result, kWords).Write(EncodeResult(Result{6, "of another number"}), [] {});
  EXPECT_EQ(CommittedOf(0, 7), "not committed");
}

TEST_F(FanInSlotsTest, MalformedContentsAreSkipped) {
  for (const uint64_t length :
       {uint64_t{1} << 63, uint64_t{kWords} * 8, uint64_t{40}, uint64_t{0}}) {
    at(0).Revoke();
    at(1).Revoke();
    ASSERT_TRUE(at(0).Post(Of(7)) && at(1).Post(Of(7)));
    memory_[1].content[0] = length;
    EXPECT_EQ(at(0).Take(7).size(), 1u) << length;
    EXPECT_EQ(at(1).OwnWord().state, SlotState::kReleased) << "it is not left to wait";
  }
  for (int word = 1; word < 10; ++word) {  // includes the lengths of fields
    at(0).Revoke();
    at(1).Revoke();
    ASSERT_TRUE(at(0).Post(Of(7, "payload")) && at(1).Post(Of(7)));
    memory_[1].content[word] = ~uint64_t{0} >> word;
    at(0).Take(7);
  }
}

TEST_F(FanInSlotsTest, MalformedResultsAreNotAnswers) {
  const auto answer = [&](uint32_t by) {
    at(0).Revoke();
    at(0).Post(Of(7));
    const SlotWord word = at(0).OwnWord();
    memory_[0].word = SlotWord{SlotState::kAnswered, by, word.generation, word.sequence}.bits();
    std::optional<Result> result;
    EXPECT_TRUE(at(0).TakeAnswer(at(0).OwnWord(), 7, &result));
    return result.has_value();
  };
  EXPECT_FALSE(answer(1)) << "nothing was ever published there";
  EXPECT_FALSE(answer(200)) << "there is no such member";
  memory_[1].result[0] = ~uint64_t{0};
  EXPECT_FALSE(answer(1));
  SharedBytes(memory_[1].result, kWords).Write(EncodeResult(Result{6, "of another number"}), [] {});
  EXPECT_FALSE(answer(1));
}

TEST_F(FanInSlotsTest, AnInvalidWordLeadsToAnOwnCall) {
  FanInRound<SharedFutex> round(&at(0), {});
  std::optional<FanInEnd> end;
  for (const uint32_t bits : {5u, 6u, 7u, ~0u}) {
    memory_[0].word = bits;
    at(0).Revoke();
    ASSERT_TRUE(at(1).Post(Of(9)) && at(2).Post(Of(9)));
    ASSERT_TRUE(round.Begin(Of(9), SharedFutex::Now() + 1'000'000'000));
    end = round.Run([](const auto&) { return std::nullopt; });
    EXPECT_EQ(end->kind, FanInEnd::kCallAlone);
    at(1).Revoke();
    at(2).Revoke();
  }
}

TEST_F(FanInSlotsTest, NoMemberWaitsForASkippedNumber) {
  ASSERT_TRUE(at(0).Post(Of(7)) && at(1).Post(Of(7)));
  EXPECT_TRUE(at(0).MoreMayArrive(7));
  at(2).Skip(7);
  EXPECT_FALSE(at(0).MoreMayArrive(7));
  EXPECT_EQ(at(0).Take(7).size(), 2u) << "there is nothing to take of it";
}

TEST_F(FanInSlotsTest, ATooLargeArrivalSkipsTheNumber) {
  FanInRound<SharedFutex> round(&at(2), {});
  ASSERT_TRUE(at(0).Post(Of(7)) && at(1).Post(Of(7)));
  EXPECT_FALSE(round.Begin(Of(7, std::string(kWords * 8, 'x')), SharedFutex::Now()));
  EXPECT_FALSE(at(0).MoreMayArrive(7));
}

TEST_F(FanInSlotsTest, GenerationsAndNumbersWrapAround) {
  for (uint64_t sequence = 0; sequence < 10'000; ++sequence) {
    ASSERT_TRUE(at(0).Post(Of(sequence)) && at(1).Post(Of(sequence)));
    ASSERT_NE(at(0).OwnWord().generation, 0u);
    const std::vector<TakenPart> parts = at(1).Take(sequence);
    ASSERT_EQ(parts.size(), 2u);
    at(1).Publish(parts, {0, 1}, {sequence, "x"});
    std::optional<Result> result;
    ASSERT_TRUE(at(0).TakeAnswer(at(0).OwnWord(), sequence, &result) && result);
    at(1).Revoke();
  }
}

}  // namespace
}  // namespace muster::internal
