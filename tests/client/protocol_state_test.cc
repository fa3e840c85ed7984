// The pure protocol state of one member.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/src/protocol/collective_sequence.h"
#include "client/src/protocol/lease_ledger.h"
#include "client/src/protocol/membership.h"
#include "client/src/protocol/session_state.h"

namespace muster::internal {
namespace {

using ::testing::HasSubstr;

constexpr SessionId kFirst = {7, 1};
constexpr SessionId kSecond = {7, 2};
constexpr EpochId kEpoch = {100, 42};

TEST(SessionStateTest, RepliesCountOnlyInTheSessionTheyWereSentIn) {
  SessionState state;
  EXPECT_FALSE(state.session());
  ASSERT_TRUE(state.Attached(state.BeginAttach(), kFirst));
  const Stamp stamp = state.NewStamp();
  EXPECT_TRUE(state.IsCurrent(stamp));
  const uint64_t attach = state.BeginAttach();
  EXPECT_FALSE(state.session());
  EXPECT_FALSE(state.IsCurrent(stamp));
  ASSERT_TRUE(state.Attached(attach, kSecond));
  EXPECT_FALSE(state.IsCurrent(stamp));
  EXPECT_TRUE(state.IsCurrent(state.NewStamp()));
}

TEST(SessionStateTest, AttemptsGrowOverSendsAndAttaches) {
  SessionState state;
  const uint64_t attach = state.BeginAttach();
  state.Attached(attach, kFirst);
  const Stamp first = state.NewStamp();
  const Stamp second = state.NewStamp();
  EXPECT_LT(attach, first.attempt);
  EXPECT_LT(first.attempt, second.attempt);
  EXPECT_LT(second.attempt, state.BeginAttach());
}

TEST(SessionStateTest, OlderStreamsChangeNothing) {
  SessionState state;
  const uint64_t old_attach = state.BeginAttach();
  const uint64_t attach = state.BeginAttach();
  EXPECT_FALSE(state.Attached(old_attach, kFirst));
  EXPECT_FALSE(state.session());
  EXPECT_TRUE(state.Attached(attach, kSecond));
  EXPECT_FALSE(state.Detached(old_attach));
  EXPECT_EQ(state.session(), kSecond);
  EXPECT_TRUE(state.Detached(attach));
  EXPECT_FALSE(state.session());
}

v1::JoinResponse PlaceIn(const EpochId& epoch) {
  v1::JoinResponse place;
  place.mutable_epoch()->set_number(epoch.number);
  place.mutable_epoch()->set_nonce(epoch.nonce);
  place.add_roster();
  return place;
}

TEST(MembershipTest, OnlyTheOwnEpochBreaksAndTheFirstReasonCounts) {
  Membership membership;
  membership.Entered(PlaceIn(kEpoch));
  membership.EpochBroken({100, 43}, absl::AbortedError("another daemon's"));
  EXPECT_TRUE(membership.HealthOf(kEpoch).ok());
  membership.EpochBroken(kEpoch, absl::AbortedError("rank 2 was lost"));
  membership.EpochBroken(kEpoch, absl::AbortedError("later"));
  EXPECT_EQ(membership.HealthOf(kEpoch), absl::AbortedError("rank 2 was lost"));
}

TEST(MembershipTest, LossThatIsToldBeforeThePlaceIsNotForgotten) {
  Membership membership;
  membership.EpochBroken(kEpoch, absl::AbortedError("rank 2 was lost"));
  membership.Entered(PlaceIn(kEpoch));
  EXPECT_EQ(membership.HealthOf(kEpoch), absl::AbortedError("rank 2 was lost"));
}

CollectiveCall Barrier(const std::string& label) {
  CollectiveCall call;
  call.label = label;
  return call;
}

CollectiveCall Broadcast(int root, const std::string& payload) {
  CollectiveCall call;
  call.kind = CollectiveKind::kBroadcast;
  call.root = root;
  call.type_name = "string";
  call.payload = payload;
  return call;
}

const absl::Status kTimedOut = absl::DeadlineExceededError("rank 3 is missing");

TEST(CollectiveSequenceTest, NumbersGrowWithCompletion) {
  CollectiveSequence sequence("the world");
  ASSERT_TRUE(sequence.Begin(Barrier("a")).ok());
  EXPECT_EQ(sequence.number(), 0);
  EXPECT_EQ(sequence.Describe(), "Barrier('a') op 0 of the world");
  sequence.End(absl::OkStatus(), 1);
  ASSERT_TRUE(sequence.Begin(Broadcast(2, "")).ok());
  EXPECT_EQ(sequence.Describe(), "Broadcast(root 2, string) op 1 of the world");
}

TEST(CollectiveSequenceTest, OverlappingCallsAreRefused) {
  CollectiveSequence sequence("the world");
  ASSERT_TRUE(sequence.Begin(Barrier("a")).ok());
  const absl::Status status = sequence.Begin(Barrier("b"));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("Barrier('a') op 0 of the world is in progress in another thread"));
}

TEST(CollectiveSequenceTest, WhatWasSentMustBeRepeated) {
  CollectiveSequence sequence("group 'g'");
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "abc")).ok());
  sequence.End(kTimedOut, 1);
  const absl::Status other = sequence.Begin(Barrier("x"));
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.message()),
              HasSubstr("Broadcast(root 0, string) op 0 of group 'g' was sent"));
  EXPECT_THAT(std::string(other.message()), HasSubstr("Barrier('x') was called"));
  EXPECT_THAT(std::string(sequence.Begin(Broadcast(0, "abcd")).message()),
              HasSubstr("another payload (4 bytes now, 3 bytes before)"));
  EXPECT_TRUE(sequence.Begin(Broadcast(0, "abc")).ok());
  EXPECT_EQ(sequence.number(), 0);
  sequence.End(absl::OkStatus(), 1);
  EXPECT_TRUE(sequence.Begin(Barrier("x")).ok());
}

TEST(CollectiveSequenceTest, WhatWasNeverSentFixesNothing) {
  CollectiveSequence sequence("the world");
  ASSERT_TRUE(sequence.Begin(Barrier("a")).ok());
  sequence.End(absl::CancelledError(), 0);
  EXPECT_TRUE(sequence.Begin(Barrier("b")).ok());
}

TEST(CollectiveSequenceTest, WhatTheCoordinatorRefusedFixesNothing) {
  CollectiveSequence sequence("the world");
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "too large")).ok());
  sequence.End(absl::ResourceExhaustedError("limit"), 1);
  EXPECT_TRUE(sequence.Begin(Broadcast(0, "small")).ok());
}

TEST(CollectiveSequenceTest, RefusalOfARepetitionFreesNothing) {
  CollectiveSequence sequence("the world");
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "abc")).ok());
  sequence.End(kTimedOut, 1);
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "abc")).ok());
  sequence.End(absl::ResourceExhaustedError("limit"), 1);
  EXPECT_FALSE(sequence.Begin(Broadcast(0, "other")).ok());
}

TEST(CollectiveSequenceTest, DisagreementFinishesTheGroup) {
  CollectiveSequence sequence("the world");
  const absl::Status mismatch = absl::FailedPreconditionError("op 0: rank 1 called Barrier('b')");
  ASSERT_TRUE(sequence.Begin(Barrier("a")).ok());
  sequence.End(mismatch, 1);
  EXPECT_EQ(sequence.Begin(Barrier("a")), mismatch);
  EXPECT_EQ(sequence.Begin(Barrier("b")), mismatch);
}

TEST(CollectiveSequenceTest, OwnContributionIsKeptUntilTheNextCompletes) {
  CollectiveSequence sequence("the world");
  EXPECT_FALSE(sequence.retained());
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "first")).ok());
  sequence.End(absl::OkStatus(), 1);
  EXPECT_EQ(sequence.retained()->payload, "first");
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "second")).ok());
  sequence.End(kTimedOut, 1);
  EXPECT_EQ(sequence.retained()->payload, "first");
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "second")).ok());
  sequence.End(absl::OkStatus(), 1);
  EXPECT_EQ(sequence.retained()->payload, "second");
}

TEST(LeaseLedgerTest, KnowsTheRequestOfAHeldLease) {
  LeaseLedger ledger;
  const uint64_t first = ledger.NewRequest();
  const uint64_t second = ledger.NewRequest();
  EXPECT_NE(first, second);
  ledger.Granted(second, 1000);
  EXPECT_EQ(ledger.End(999), std::nullopt);
  EXPECT_EQ(ledger.End(1000), second);
  EXPECT_EQ(ledger.End(1000), std::nullopt);
}

TEST(LeaseLedgerTest, RemembersTheHighestToken) {
  LeaseLedger ledger;
  ledger.Granted(ledger.NewRequest(), 1000);
  ledger.Saw(1200);
  ledger.Saw(1100);
  EXPECT_EQ(ledger.highest_token(), 1200);
}

}  // namespace
}  // namespace muster::internal
