// Tests of the pure protocol state of one member.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/src/protocol/groups/collective_sequence.h"
#include "client/src/protocol/groups/lease_records.h"
#include "client/src/protocol/groups/member_epochs.h"
#include "client/src/protocol/messages/session_state.h"

namespace muster::internal {
namespace {

using ::testing::HasSubstr;

constexpr SessionId kFirst = {7, 1};
constexpr SessionId kSecond = {7, 2};
constexpr EpochId kEpoch = {100, 42};
constexpr SteadyTime kNow;

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

TEST(MemberEpochsTest, OnlyTheOwnEpochBreaksAndTheFirstReasonCounts) {
  MemberEpochs epochs;
  epochs.Entered(kNow, PlaceIn(kEpoch));
  epochs.Ended({100, 43}, {absl::AbortedError("another daemon's"), {}, kNow, {}});
  EXPECT_TRUE(epochs.HealthOf(kEpoch).ok());
  epochs.Ended(kEpoch, {absl::AbortedError("rank 2 was lost"), {}, kNow, {}});
  epochs.Ended(kEpoch, {absl::AbortedError("later"), {}, kNow, {}});
  EXPECT_EQ(epochs.HealthOf(kEpoch), absl::AbortedError("rank 2 was lost"));
}

TEST(MemberEpochsTest, ALossReportedBeforeThePlaceIsKept) {
  MemberEpochs epochs;
  epochs.Ended(kEpoch, {absl::AbortedError("rank 2 was lost"), {}, kNow, {}});
  epochs.Entered(kNow, PlaceIn(kEpoch));
  EXPECT_EQ(epochs.HealthOf(kEpoch), absl::AbortedError("rank 2 was lost"));
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
  sequence.End(absl::OkStatus(), 1, false);
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

TEST(CollectiveSequenceTest, ARetrySendsTheFirstValue) {
  CollectiveSequence sequence("group 'g'");
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "abc")).ok());
  sequence.End(kTimedOut, 1, false);
  const absl::Status other = sequence.Begin(Barrier("x"));
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.message()),
              HasSubstr("Broadcast(root 0, string) op 0 of group 'g' was sent"));
  EXPECT_THAT(std::string(other.message()), HasSubstr("Barrier('x') was called"));
  EXPECT_TRUE(sequence.Begin(Broadcast(0, "abcd")).ok());
  EXPECT_EQ(sequence.number(), 0);
  EXPECT_EQ(sequence.call().payload, "abc") << "some ranks may have got it";
  sequence.End(absl::OkStatus(), 1, false);
  EXPECT_TRUE(sequence.Begin(Barrier("x")).ok());
}

TEST(CollectiveSequenceTest, AnUnsentCallFixesNothing) {
  CollectiveSequence sequence("the world");
  ASSERT_TRUE(sequence.Begin(Barrier("a")).ok());
  sequence.End(absl::CancelledError(), 0, false);
  EXPECT_TRUE(sequence.Begin(Barrier("b")).ok());
}

TEST(CollectiveSequenceTest, ARefusedSendFixesNothing) {
  CollectiveSequence sequence("the world");
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "too large")).ok());
  sequence.End(absl::ResourceExhaustedError("limit"), 1, false);
  EXPECT_TRUE(sequence.Begin(Broadcast(0, "small")).ok());
}

TEST(CollectiveSequenceTest, RefusalOfARetryFreesTheNumberIfNoOtherSendCanCount) {
  CollectiveSequence sequence("the world");
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "too large")).ok());
  sequence.End(kTimedOut, 1, false);
  EXPECT_TRUE(sequence.is_fixed());
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "too large")).ok());
  sequence.End(absl::ResourceExhaustedError("limit"), 1, true);
  EXPECT_FALSE(sequence.is_fixed());
  EXPECT_TRUE(sequence.Begin(Barrier("x")).ok());
}

TEST(CollectiveSequenceTest, RefusalOfARetryFreesNothing) {
  CollectiveSequence sequence("the world");
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "abc")).ok());
  sequence.End(kTimedOut, 1, false);
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "abc")).ok());
  sequence.End(absl::ResourceExhaustedError("limit"), 1, false);
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "other")).ok());
  EXPECT_EQ(sequence.call().payload, "abc");
}

TEST(CollectiveSequenceTest, ARetryWithOtherArgumentsIsRefused) {
  CollectiveSequence sequence("the world");
  CollectiveCall call = Broadcast(0, "abc");
  call.arguments = 1;
  ASSERT_TRUE(sequence.Begin(call).ok());
  sequence.End(kTimedOut, 1, false);
  EXPECT_TRUE(sequence.Begin(call).ok());
  sequence.End(kTimedOut, 1, false);
  call.arguments = 2;
  const absl::Status other = sequence.Begin(call);
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.message()), HasSubstr("is repeated with other arguments"));
}

TEST(CollectiveSequenceTest, ARefusalToAllRanksFreesTheNumber) {
  CollectiveSequence sequence("the world");
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "abc")).ok());
  sequence.End(kTimedOut, 3, false);
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "abc")).ok());
  sequence.End(absl::OutOfRangeError("too large"), 1, false);
  EXPECT_EQ(sequence.refusals(), 1u);
  EXPECT_TRUE(sequence.Begin(Barrier("other")).ok());
  EXPECT_EQ(sequence.number(), 0u);
  sequence.End(absl::OkStatus(), 1, false);
  EXPECT_EQ(sequence.refusals(), 0u) << "of the next number";
}

TEST(CollectiveSequenceTest, DisagreementFinishesTheGroup) {
  CollectiveSequence sequence("the world");
  const absl::Status mismatch = absl::FailedPreconditionError("op 0: rank 1 called Barrier('b')");
  ASSERT_TRUE(sequence.Begin(Barrier("a")).ok());
  sequence.End(mismatch, 1, false);
  EXPECT_EQ(sequence.Begin(Barrier("a")), mismatch);
  EXPECT_EQ(sequence.Begin(Barrier("b")), mismatch);
}

TEST(CollectiveSequenceTest, OwnContributionIsKeptUntilTheNextCompletes) {
  CollectiveSequence sequence("the world");
  EXPECT_FALSE(sequence.retained());
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "first")).ok());
  sequence.End(absl::OkStatus(), 1, false);
  EXPECT_EQ(sequence.retained()->payload, "first");
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "second")).ok());
  sequence.End(kTimedOut, 1, false);
  EXPECT_EQ(sequence.retained()->payload, "first");
  ASSERT_TRUE(sequence.Begin(Broadcast(0, "second")).ok());
  sequence.End(absl::OkStatus(), 1, false);
  EXPECT_EQ(sequence.retained()->payload, "second");
}

const LeaseId kWork = {"work", LeaseScope::kJob};

v1::LeaseResult Result(uint64_t token, const std::string& value) {
  v1::LeaseResult result;
  result.set_token(token);
  result.set_value(value);
  return result;
}

TEST(LeaseRecordsTest, KnowsTheRequestOfAHeldLease) {
  LeaseRecords records;
  const uint64_t first = records.NewRequest();
  const uint64_t second = records.NewRequest();
  EXPECT_NE(first, second);
  records.Granted(kWork, second, 1000);
  EXPECT_EQ(records.End(999), std::nullopt);
  EXPECT_EQ(records.End(1000), second);
  EXPECT_EQ(records.End(1000), std::nullopt);
}

TEST(LeaseRecordsTest, KeepsOnlyListedLeases) {
  LeaseRecords records;
  records.Granted(kWork, 1, 1000);
  records.Granted({"other", LeaseScope::kNode}, 2, 1001);
  records.KeepOnly({1001, 7});
  EXPECT_FALSE(records.Holds(1000));
  EXPECT_TRUE(records.Holds(1001));
}

TEST(LeaseRecordsTest, ClaimsTheLatestResultsThatFitAndTheHighestToken) {
  LeaseRecords records;
  const size_t room = Result(1, std::string(100, 'x')).ByteSizeLong() * 2;
  records.Completed({"a", LeaseScope::kJob}, Result(1200, std::string(90, 'a')), room);
  records.Completed({"b", LeaseScope::kJob}, Result(1100, std::string(90, 'b')), room);
  records.Completed({"b", LeaseScope::kJob}, Result(1101, std::string(90, 'B')), room);
  records.Completed({"c", LeaseScope::kJob}, Result(1102, std::string(90, 'c')), room);
  v1::Claim claim;
  records.AddTo(&claim);
  EXPECT_EQ(claim.highest_token(), 1200);
  ASSERT_EQ(claim.completed_leases_size(), 2);
  EXPECT_EQ(claim.completed_leases(0).name(), "c");
  EXPECT_EQ(claim.completed_leases(1).result().token(), 1101);
}

TEST(LeaseRecordsTest, AClaimStaysSmallWithALeaseInEachStep) {
  LeaseRecords records;
  const int steps = LeaseRecords::kMaxCompleted + 10;
  for (int step = 1; step <= steps; ++step) {
    records.Completed({"step " + std::to_string(step), LeaseScope::kJob}, Result(step, ""),
                      1 << 20);
  }
  v1::Claim claim;
  records.AddTo(&claim);
  ASSERT_EQ(claim.completed_leases_size(), static_cast<int>(LeaseRecords::kMaxCompleted));
  EXPECT_EQ(claim.completed_leases(0).result().token(), steps);
  EXPECT_EQ(claim.completed_leases(LeaseRecords::kMaxCompleted - 1).result().token(), 11);
}

}  // namespace
}  // namespace muster::internal
