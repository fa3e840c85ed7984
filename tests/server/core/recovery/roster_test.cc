// A restarted daemon asks one member for the roster. Meanwhile the claims of the others wait.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A job whose daemon was restarted, and whose members send claims.
class RosterTest : public ::testing::Test {
 protected:
  explicit RosterTest(core::Options options = Harness::DefaultOptions(4)) : h_(options) {
    p_ = h_.Formed(4);
    h_.Restart();
  }

  Claim ClaimOf(size_t rank) { return h_.ClaimOf(p_[rank], 0); }
  void Claims(size_t rank) { h_.AttachWithoutRoster(p_[rank], ClaimOf(rank)); }
  void NamesRoster(size_t rank) { h_.AttachWithRoster(p_[rank], ClaimOf(rank)); }

  bool IsAsked(size_t rank) { return !h_.Events<NeedRoster>(p_[rank].stream).empty(); }
  bool IsAttached(size_t rank) { return !h_.Events<Attached>(p_[rank].stream).empty(); }
  absl::Status EndOf(size_t rank) { return h_.EndOf(p_[rank].stream).value_or(absl::OkStatus()); }
  JobState state() { return h_.coordinator().GetStatus(h_.now()).state; }

  Harness h_;
  std::vector<Process> p_;
};

TEST_F(RosterTest, OneClaimantIsAsked) {
  for (size_t rank = 0; rank < 4; ++rank) Claims(rank);
  EXPECT_TRUE(IsAsked(0));
  EXPECT_EQ(h_.Events<NeedRoster>(p_[0].stream).at(0).epoch, p_[0].epoch);
  EXPECT_FALSE(IsAsked(1) || IsAsked(2) || IsAsked(3));
  EXPECT_FALSE(IsAttached(0) || IsAttached(1) || IsAttached(2) || IsAttached(3));
  EXPECT_EQ(state(), JobState::kRecovering);
  NamesRoster(0);
  for (size_t rank = 0; rank < 4; ++rank) EXPECT_TRUE(IsAttached(rank)) << rank;
  EXPECT_EQ(state(), JobState::kRunning);
}

TEST_F(RosterTest, ADaemonThatKnowsTheEpochAsksNobody) {
  Claims(0);
  NamesRoster(0);
  Claims(1);
  EXPECT_TRUE(IsAttached(1));
  EXPECT_FALSE(IsAsked(1));
}

TEST_F(RosterTest, AfterASecondTheNextClaimantIsAsked) {
  for (size_t rank = 0; rank < 3; ++rank) Claims(rank);
  h_.Advance(absl::Milliseconds(999));
  EXPECT_FALSE(IsAsked(1));
  h_.Advance(absl::Milliseconds(1));
  EXPECT_TRUE(IsAsked(1));
  EXPECT_FALSE(IsAsked(2));
  h_.Advance(absl::Seconds(5));
  EXPECT_TRUE(IsAsked(2));
  Claims(3);
  EXPECT_TRUE(IsAsked(3)) << "all others were asked";
  NamesRoster(1);
  EXPECT_TRUE(IsAttached(0) && IsAttached(1) && IsAttached(2) && IsAttached(3));
  EXPECT_EQ(state(), JobState::kRunning);
}

TEST_F(RosterTest, IfTheClaimantsStreamEndsTheNextIsAskedAtOnce) {
  for (size_t rank = 0; rank < 3; ++rank) Claims(rank);
  h_.CloseStream(p_[1]);
  EXPECT_FALSE(IsAsked(2)) << "it was not asked";
  h_.CloseStream(p_[0]);
  EXPECT_TRUE(IsAsked(2));
  NamesRoster(2);
  EXPECT_EQ(state(), JobState::kRecovering) << "the others are to come back";
  Claims(0);
  Claims(1);
  Claims(3);
  EXPECT_EQ(state(), JobState::kRunning);
}

TEST_F(RosterTest, AfterARefusedRosterTheNextClaimantIsAsked) {
  Claims(0);
  Claims(1);
  Claim claim = ClaimOf(0);
  claim.rank = 2;
  h_.AttachWithRoster(p_[0], claim);
  EXPECT_EQ(EndOf(0).code(), absl::StatusCode::kInvalidArgument);
  h_.Advance(absl::Seconds(1));
  EXPECT_TRUE(IsAsked(1));
}

TEST_F(RosterTest, NoEpochFormsBeforeTheRosterIsKnown) {
  Process early = h_.Attached(), late;
  const WaiterId join = h_.Join(early);
  Claims(2);
  for (int i = 0; i < 3; ++i) {
    late = h_.Attached();
    EXPECT_TRUE(h_.Parked(h_.Join(late)));
  }
  EXPECT_TRUE(h_.Parked(join));
  h_.Advance(absl::Seconds(1));  // newcomers that come within a second are told together
  EXPECT_THAT(h_.Events<StillWaiting>(late.stream), SizeIs(1));
  EXPECT_THAT(
      h_.Events<StillWaiting>(early.stream).at(0).text,
      AllOf(HasSubstr("asks for the list of members of epoch"), HasSubstr("1 process claims"),
            HasSubstr("rank 2 (node 'n0', host host-n0, pid 1003)")));
}

TEST_F(RosterTest, AnEpochWithoutARosterEndsWithTheGrace) {
  Process newcomer[4];
  WaiterId join[4];
  Claims(0);
  for (int i = 0; i < 4; ++i) {
    newcomer[i] = h_.Attached();
    join[i] = h_.Join(newcomer[i], {}, absl::Minutes(10));
  }
  h_.Advance(h_.coordinator().options().recovery_grace - absl::Milliseconds(1));
  EXPECT_EQ(EndOf(0), absl::OkStatus());
  h_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(EndOf(0).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(EndOf(0).message()), HasSubstr("the list of its members"));
  for (const WaiterId id : join) EXPECT_EQ(h_.StatusOf(id), absl::OkStatus());
  EXPECT_EQ(state(), JobState::kRunning);
}

TEST_F(RosterTest, AHigherEpochIsAskedForBeforeTheRecoveryOfALowerOneEnds) {
  NamesRoster(0);
  Process other = p_[3];
  other.epoch.number += 1;
  other.rank = 0;
  other.roster = std::make_shared<Roster>(Roster{{other.identity, 0, 0, {}}});
  h_.AttachWithoutRoster(other, h_.ClaimOf(other, 5));
  EXPECT_THAT(h_.Events<NeedRoster>(other.stream), SizeIs(1));
  Claims(1);
  Claims(2);
  h_.ReportExit(p_[3], false, 0);
  EXPECT_EQ(state(), JobState::kRecovering) << "all of the lower one are accounted for";
  h_.AttachWithRoster(other, h_.ClaimOf(other, 5));
  EXPECT_EQ(h_.coordinator().GetStatus(h_.now()).epoch, other.epoch);
  EXPECT_EQ(EndOf(1).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(state(), JobState::kRunning);
}

TEST_F(RosterTest, TheLaterOfTwoAttachesCounts) {
  AttachRequest first = h_.AttachOf(p_[1]);
  first.claim = std::make_shared<const Claim>([&] {
    Claim claim = ClaimOf(1);
    claim.roster = nullptr;
    return claim;
  }());
  AttachRequest second = first;
  first.attempt = 900;
  second.attempt = 901;
  Claims(0);
  const WaiterId late = h_.Attach(second);
  EXPECT_EQ(h_.EndOf(h_.Attach(first))->code(), absl::StatusCode::kCancelled);
  second.attempt = 902;
  h_.Attach(second);
  EXPECT_THAT(std::string(h_.EndOf(late)->message()), HasSubstr("replaced by a newer session"));
}

TEST_F(RosterTest, GroupsThatAreNotOfTheEpochAreRefusedOnceItIsKnown) {
  Claim claim = ClaimOf(1);
  claim.groups.push_back({{"g", {1, 7}}, 0, ""});
  h_.AttachWithoutRoster(p_[1], claim);
  NamesRoster(0);
  EXPECT_EQ(EndOf(1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(EndOf(1).message()), HasSubstr("names rank 7"));
}

TEST_F(RosterTest, ADrainEndsTheClaimsThatWait) {
  Claims(0);
  Claims(1);
  EXPECT_FALSE(h_.coordinator().Quiet());
  h_.Absorb(0, h_.coordinator().Step(h_.now(), 0, DrainBegun{"the daemon is stopped"}));
  EXPECT_EQ(EndOf(0).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(EndOf(1).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(h_.coordinator().Quiet());
}

core::Options Narrow() {
  core::Options options = Harness::DefaultOptions(4);
  options.limits.max_members = 4;
  options.limits.max_payload_bytes = 60;
  options.limits.max_held_bytes = 100;
  return options;
}

class NarrowRosterTest : public RosterTest {
 protected:
  NarrowRosterTest() : RosterTest(Narrow()) {}
};

TEST_F(NarrowRosterTest, ClaimsThatWaitCountAsMembers) {
  for (size_t rank = 0; rank < 4; ++rank) Claims(rank);
  const Process stranger = h_.Attached();
  EXPECT_EQ(h_.EndOf(stranger.stream)->code(), absl::StatusCode::kResourceExhausted);
  NamesRoster(0);
  EXPECT_EQ(state(), JobState::kRunning);
}

// Claims contain results of leases. A thousand claims must not exceed what the daemon may hold.
TEST_F(NarrowRosterTest, ClaimsThatFindNoRoomComeAgain) {
  const auto claim = [&](size_t rank) {
    Claim with_result = ClaimOf(rank);
    with_result.completed.push_back(
        {"w",
         LeaseScope::kJob,
         {5, absl::OkStatus(), std::make_shared<std::string>(std::string(60, 'x'))}});
    h_.AttachWithoutRoster(p_[rank], with_result);
  };
  claim(0);
  claim(1);
  EXPECT_EQ(EndOf(1).code(), absl::StatusCode::kUnavailable);
  NamesRoster(0);
  claim(1);
  EXPECT_TRUE(IsAttached(1));
}

}  // namespace
}  // namespace muster::core
