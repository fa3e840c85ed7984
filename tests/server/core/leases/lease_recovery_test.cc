// Leases after a restart of the daemon, and after the loss of their holders.

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<uint64_t> StandingTokens(const Harness& h, const Process& p) {
  return h.Events<Attached>(p.stream).at(0).standing_tokens;
}

HeldLease Held(uint64_t token) { return {"work", LeaseScope::kJob, token, 1}; }

CompletedLease Done(uint64_t token, const std::string& value) {
  return {"work",
          LeaseScope::kJob,
          {token, absl::OkStatus(), std::make_shared<const std::string>(value)}};
}

TEST(LeaseRecoveryTest, AClaimedLeaseStandsAndCanBeCompleted) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const uint64_t token = h.TokenOf(h.Acquire(p[0], "work", 1));
  h.Restart();
  Claim claim = h.ClaimOf(p[0], 0);
  claim.held.push_back(Held(token));
  h.Attach(p[0], claim);
  EXPECT_THAT(StandingTokens(h, p[0]), ElementsAre(token));
  const WaiterId other = h.Acquire(p[1], "work", 1);  // of an ended session
  EXPECT_EQ(h.StatusOf(other).code(), absl::StatusCode::kUnavailable);
  h.Recover(p[1], 0);
  const WaiterId waits = h.Acquire(p[1], "work", 1);
  EXPECT_TRUE(h.Parked(waits));
  EXPECT_TRUE(h.StatusOf(h.Complete(p[0], "work", token, "result")).ok());
  EXPECT_EQ(h.LeaseResultOf(waits), "result");
}

TEST(LeaseRecoveryTest, NothingIsGrantedWhileTheHolderMayBeAtWork) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Acquire(p[0], "work", 1);
  h.Restart();
  h.Recover(p[1], 0);
  const WaiterId next = h.Acquire(p[1], "work", 1);
  h.Advance(absl::Seconds(59));
  EXPECT_TRUE(h.Parked(next));
}

TEST(LeaseRecoveryTest, DeferredCallsAreServedThoughTheRecoveryEndsWithALoss) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  const uint64_t given_up = h.TokenOf(h.Acquire(p[0], "work", 1));
  const uint64_t done = h.TokenOf(h.Acquire(p[1], "other work", 1));
  h.Restart();
  Claim claim = h.ClaimOf(p[0], 0);
  claim.held.push_back(Held(given_up));
  h.Attach(p[0], claim);
  claim = h.ClaimOf(p[1], 0);
  claim.held.push_back({"other work", LeaseScope::kJob, done, 1});
  h.Attach(p[1], claim);
  const WaiterId abandon = h.Abandon(p[0], "work", 1);
  const WaiterId complete = h.Complete(p[1], "other work", done, "result");
  h.Advance(absl::Seconds(61));
  EXPECT_TRUE(h.StatusOf(abandon).ok()) << h.StatusOf(abandon);
  EXPECT_TRUE(h.StatusOf(complete).ok()) << h.StatusOf(complete);
}

TEST(LeaseRecoveryTest, TokensGrowOverARestartWhoseClockIsBehind) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  Claim seen = h.ClaimOf(p[0], 0);
  seen.highest_token = uint64_t{1} << 60;
  h.Attach(p[0], seen);
  h.Recover(p[1], 0);
  EXPECT_GT(h.TokenOf(h.Acquire(p[1], "work", 1)), seen.highest_token);
}

// Both continue from the same token, and neither knows what the other grants.
TEST(LeaseRecoveryTest, TwoDaemonsWhoseClocksAreBehindGrantDifferentTokens) {
  std::vector<uint64_t> tokens;
  for (const int restarts : {1, 2}) {
    Harness h(2);
    std::vector<Process> p = h.Formed(2);
    for (int i = 0; i < restarts; ++i) h.Restart();
    Claim seen = h.ClaimOf(p[0], 0);
    seen.highest_token = uint64_t{1} << 61;
    h.Attach(p[0], seen);
    h.Recover(p[1], 0);
    for (const char* work : {"a", "b", "c"}) tokens.push_back(h.TokenOf(h.Acquire(p[1], work, 1)));
    EXPECT_THAT(tokens, Each(Gt(seen.highest_token)));
  }
  EXPECT_THAT(std::set<uint64_t>(tokens.begin(), tokens.end()), SizeIs(tokens.size()));
}

TEST(LeaseRecoveryTest, AGrantThatItsHolderDoesNotClaimIsVoid) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const uint64_t lost = h.TokenOf(h.Acquire(p[0], "work", 1));  // the answer is lost
  const WaiterId other = h.Acquire(p[1], "work", 1);
  h.CloseStream(p[0]);
  h.Recover(p[0], 0);
  EXPECT_GT(h.TokenOf(other), lost);
  EXPECT_TRUE(h.Parked(h.Acquire(p[0], "work", 1))) << "the retry is a new request for it";
  EXPECT_EQ(h.StatusOf(h.Complete(p[0], "work", lost, "x")).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(LeaseRecoveryTest, ACompletedResultBeatsAGrant) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Restart();
  Claim holder = h.ClaimOf(p[0], 0);
  holder.held.push_back(Held(7));  // its CompleteLease was done, but not acknowledged
  h.Attach(p[0], holder);
  Claim knows = h.ClaimOf(p[1], 0);
  knows.completed.push_back(Done(7, "result"));
  h.Attach(p[1], knows);
  h.Recover(p[2], 0);
  EXPECT_EQ(h.LeaseResultOf(h.Acquire(p[2], "work", 1)), "result");
  EXPECT_TRUE(h.StatusOf(h.Complete(p[0], "work", 7, "result")).ok()) << "its own token";
}

TEST(LeaseRecoveryTest, TheLaterOfTwoClaimedGrantsStands) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  Claim later = h.ClaimOf(p[0], 0);
  later.held.push_back(Held(9));
  h.Attach(p[0], later);
  Claim stale = h.ClaimOf(p[1], 0);
  stale.held.push_back(Held(7));
  h.Attach(p[1], stale);
  EXPECT_THAT(StandingTokens(h, p[1]), IsEmpty());
  EXPECT_EQ(h.StatusOf(h.Complete(p[1], "work", 7, "x")).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(h.StatusOf(h.Complete(p[0], "work", 9, "y")).ok());
}

// A restarted daemon may recover an epoch that has more members than it has places.
TEST(LeaseRecoveryTest, AMemberWithoutAPlaceInTheNextEpochHoldsNothing) {
  Harness h(Harness::ElasticOptions(1, 3));
  std::vector<Process> p = h.Formed(3);
  const uint64_t token = h.TokenOf(h.Acquire(p[2], "work", 1));
  h.Restart([](core::Options* o) { o->world_size = 2; });
  for (Process& process : p) {
    Claim claim = h.ClaimOf(process, 0);
    if (process.rank == 2) claim.held.push_back(Held(token));
    h.Attach(process, claim);
  }
  std::vector<WaiterId> joins;
  for (Process& process : p) joins.push_back(h.Rejoin(process));
  for (int rank : {0, 1}) h.TakePlace(p[rank], joins[rank]);
  EXPECT_TRUE(h.EndOf(p[2].stream).has_value()) << "there is no place for it";
  EXPECT_THAT(h.coordinator().GetStatus(h.now()).leases, IsEmpty());
  EXPECT_GT(h.TokenOf(h.Acquire(p[0], "work", 1)), token);
}

TEST(LeaseRecoveryTest, ClaimsBeyondALimitAreRefusedWithItsFlagAndMisnamedOnesAsInvalid) {
  Harness h(1);
  std::vector<Process> p = h.Formed(1);
  h.Restart([](core::Options* o) { o->limits.max_payload_bytes = 3; });
  Claim claim = h.ClaimOf(p[0], 0);
  claim.completed.push_back(Done(7, "long"));
  const absl::Status large = *h.EndOf(h.Attach(p[0], claim));
  EXPECT_EQ(large.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(large.message()),
              AllOf(HasSubstr("job 'train'"), HasSubstr("rank 0 (node 'n0'"),
                    HasSubstr("lease 'work'"), HasSubstr("--max-payload-bytes")));
  claim.completed[0] = Done(7, "");
  claim.completed[0].name = std::string(257, 'x');
  EXPECT_EQ(h.EndOf(h.Attach(p[0], claim))->code(), absl::StatusCode::kInvalidArgument);
}

TEST(LeaseRecoveryTest, TheLatestClaimedResultsAreKept) {
  Harness h(1);
  std::vector<Process> p = h.Formed(1);
  h.Restart([](core::Options* o) { o->limits.max_leases = 2; });
  Claim claim = h.ClaimOf(p[0], 0);
  for (const char* name : {"step 3", "step 2", "step 1"}) {
    claim.completed.push_back(Done(7, name));
    claim.completed.back().name = name;
  }
  h.Attach(p[0], claim);
  EXPECT_EQ(h.LeaseResultOf(h.Acquire(p[0], "step 2", 1)), "step 2");
  EXPECT_EQ(h.LeaseResultOf(h.Acquire(p[0], "step 3", 2)), "step 3");
  EXPECT_GT(h.TokenOf(h.Acquire(p[0], "step 1", 3)), 7u) << "the work is done again";
}

TEST(LeaseRecoveryTest, AClaimIsNotBelievedByADaemonThatKnowsItsGrants) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.CloseStream(p[0]);
  Claim claim = h.ClaimOf(p[0], 0);
  claim.held.push_back(Held(7));
  h.Attach(p[0], claim);
  EXPECT_THAT(StandingTokens(h, p[0]), IsEmpty());
}

}  // namespace
}  // namespace muster::core
