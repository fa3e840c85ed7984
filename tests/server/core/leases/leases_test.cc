// Leases at one coordinator: grants, waits, outcomes, abandoned requests, and their errors.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Text(const Harness& h, WaiterId id) { return std::string(h.StatusOf(id).message()); }

TEST(LeasesTest, TheFirstHoldsTheOthersGetItsResult) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  const WaiterId a0 = h.Acquire(p[0], "unpack", 1), a1 = h.Acquire(p[1], "unpack", 1);
  const uint64_t token = h.TokenOf(a0);
  EXPECT_GT(token, 0u);
  EXPECT_TRUE(h.Parked(a1));
  EXPECT_TRUE(h.StatusOf(h.Complete(p[0], "unpack", token, "/data")).ok());
  EXPECT_EQ(h.LeaseResultOf(a1), "/data");
  EXPECT_EQ(h.LeaseResultOf(h.Acquire(p[2], "unpack", 1)), "/data");
}

TEST(LeasesTest, NodesHaveLeasesOfTheirOwn) {
  Harness h(2);
  Process a = h.Attached("x"), b = h.Attached("y");
  const WaiterId ja = h.Join(a);
  h.Join(b);
  a.epoch = b.epoch = std::get<JoinAnswer>(h.ReplyTo(ja).answer).epoch;
  const uint64_t ta = h.TokenOf(h.Acquire(a, "w", 1, LeaseScope::kNode));
  const uint64_t tb = h.TokenOf(h.Acquire(b, "w", 1, LeaseScope::kNode));
  EXPECT_GT(ta, 0u);
  EXPECT_GT(tb, ta) << "tokens grow over all leases of the job";
}

TEST(LeasesTest, AnErrorCompletesLikeAResult) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const uint64_t token = h.TokenOf(h.Acquire(p[0], "w", 1));
  const WaiterId done = h.NextId();
  const LeaseResult result{token, absl::NotFoundError("no such file"),
                           std::make_shared<std::string>()};
  h.Absorb(done, h.coordinator().Step(
                     h.now(), done,
                     CompleteLeaseRequest{h.Context(p[0]), "w", LeaseScope::kJob, result}));
  const WaiterId a1 = h.Acquire(p[1], "w", 1);
  const auto& answer = std::get<LeaseResult>(std::get<LeaseAnswer>(h.ReplyTo(a1).answer));
  EXPECT_EQ(answer.error, absl::NotFoundError("no such file"));
}

TEST(LeasesTest, ARetryOfTheHolderGetsTheSameToken) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const uint64_t token = h.TokenOf(h.Acquire(p[0], "w", 7));
  EXPECT_EQ(h.TokenOf(h.Acquire(p[0], "w", 7)), token);
  EXPECT_TRUE(h.Parked(h.Acquire(p[0], "w", 8))) << "another request of the same process waits";
}

TEST(LeasesTest, AnAbandonedGrantGoesToTheNextWithAHigherToken) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const uint64_t first = h.TokenOf(h.Acquire(p[0], "w", 1));
  const WaiterId a1 = h.Acquire(p[1], "w", 1);
  EXPECT_TRUE(h.StatusOf(h.Abandon(p[0], "w", 1)).ok());
  EXPECT_GT(h.TokenOf(a1), first);
  const WaiterId stale = h.Complete(p[0], "w", first, "late");
  EXPECT_EQ(h.StatusOf(stale).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(h, stale), AllOf(HasSubstr("is not current"), HasSubstr("held under token")));
}

TEST(LeasesTest, ARequestThatArrivesAfterItWasAbandonedIsVoid) {
  Harness h(1);
  std::vector<Process> p = h.Formed(1);
  h.Abandon(p[0], "w", 1);
  EXPECT_EQ(h.StatusOf(h.Acquire(p[0], "w", 1)).code(), absl::StatusCode::kCancelled);
  EXPECT_GT(h.TokenOf(h.Acquire(p[0], "w", 2)), 0u);
}

TEST(LeasesTest, ACancelledWaiterIsPassedOver) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Acquire(p[0], "w", 1);
  h.Cancel(h.Acquire(p[1], "w", 1));
  const WaiterId a2 = h.Acquire(p[2], "w", 1);
  h.Abandon(p[0], "w", 1);
  EXPECT_GT(h.TokenOf(a2), 0u);
}

TEST(LeasesTest, ATimeOutNamesTheHolder) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Acquire(p[0], "w", 1);
  h.Advance(absl::Seconds(10));
  const WaiterId a1 = h.Acquire(p[1], "w", 1, LeaseScope::kJob, absl::Seconds(5));
  h.Advance(absl::Seconds(5));
  EXPECT_EQ(h.StatusOf(a1).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(h, a1), AllOf(HasSubstr("lease 'w' of the job waited 5s"),
                                 HasSubstr("held by rank 0"), HasSubstr("for 15s")));
}

TEST(LeasesTest, WorkMayTakeLongerThanAnyTimeOut) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const uint64_t token = h.TokenOf(h.Acquire(p[0], "w", 1));
  h.Advance(absl::Hours(24));
  EXPECT_TRUE(h.StatusOf(h.Complete(p[0], "w", token, "slow")).ok());
}

TEST(LeasesTest, NothingIsGrantedWhileAMemberIsDetached) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.CloseStream(p[1]);
  const WaiterId a0 = h.Acquire(p[0], "w", 1);
  EXPECT_TRUE(h.Parked(a0));
  h.Attach(p[1]);
  EXPECT_GT(h.TokenOf(a0), 0u);
}

TEST(LeasesTest, AWaitForADetachedMemberNamesIt) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.CloseStream(p[1]);
  const WaiterId a0 = h.Acquire(p[0], "w", 1, LeaseScope::kJob, absl::Seconds(1));
  h.Advance(absl::Seconds(1));
  EXPECT_EQ(h.StatusOf(a0).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(h, a0), AllOf(HasSubstr("rank 1 ("), HasSubstr("detached")));
}

TEST(LeasesTest, CompletionIsTakenFromABrokenEpoch) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const uint64_t token = h.TokenOf(h.Acquire(p[0], "w", 1));
  h.ReportExit(p[1], true, 9);
  EXPECT_TRUE(h.StatusOf(h.Complete(p[0], "w", token, "done")).ok());
}

TEST(LeasesTest, CompletingTwiceIsHarmlessAndGuessingATokenIsNot) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  EXPECT_THAT(Text(h, h.Complete(p[1], "w", 1, "x")),
              AllOf(HasSubstr("token 1 of lease 'w' of the job is not current"),
                    HasSubstr("nobody holds it")));
  const uint64_t token = h.TokenOf(h.Acquire(p[0], "w", 1));
  EXPECT_EQ(h.StatusOf(h.Complete(p[1], "w", token, "x")).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(h.StatusOf(h.Complete(p[0], "w", token, "x")).ok());
  EXPECT_TRUE(h.StatusOf(h.Complete(p[0], "w", token, "x")).ok());
}

TEST(LeasesTest, AHolderThatLeavesFreesTheLease) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Acquire(p[0], "w", 1);
  const WaiterId a1 = h.Acquire(p[1], "w", 1);
  h.Leave(p[0]);
  EXPECT_GT(h.TokenOf(a1), 0u);
}

TEST(LeasesTest, NamesAreChecked) {
  Harness h(1);
  std::vector<Process> p = h.Formed(1);
  for (const std::string& name : {std::string(), std::string(257, 'x'), std::string("a\tb")}) {
    for (const WaiterId id :
         {h.Acquire(p[0], name, 1), h.Complete(p[0], name, 1, ""), h.Abandon(p[0], name, 1)}) {
      EXPECT_EQ(h.StatusOf(id).code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(Text(h, id),
                  AllOf(HasSubstr("job 'train': rank 0 (node 'n0'"), HasSubstr("its name ")));
    }
  }
}

TEST(LeasesTest, ErrorsNameTheJobTheMemberAndTheLease) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const uint64_t token = h.TokenOf(h.Acquire(p[0], "w", 1));
  h.Abandon(p[0], "w", 1);
  const auto names_all = AllOf(HasSubstr("job 'train': rank 0 (node 'n0'"),
                               HasSubstr("lease 'w' of the job"), HasSubstr("again"));
  EXPECT_THAT(Text(h, h.Complete(p[0], "w", token, "x")), names_all);
  EXPECT_THAT(Text(h, h.Acquire(p[0], "w", 1)), names_all);
}

TEST(LeasesTest, StatusShowsWhatIsHeldAndWaitedForAndNothingElse) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Acquire(p[0], "given up", 1);
  h.Abandon(p[0], "given up", 1);
  h.Acquire(p[0], "held", 2);
  h.Acquire(p[1], "held", 1);
  const JobStatus status = h.coordinator().GetStatus(h.now());
  ASSERT_EQ(status.leases.size(), 1u);
  EXPECT_EQ(status.leases[0].name, "held");
  EXPECT_EQ(status.leases[0].holder_rank, 0u);
  EXPECT_EQ(status.leases[0].waiters, 1u);
}

}  // namespace
}  // namespace muster::core
