// NodeCollective and WithdrawArrival: arrivals that come together count like any others.

#include "tests/server/core/node_collectives.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr auto kBarrier = CollectiveKind::kBarrier;
constexpr auto kAllGather = CollectiveKind::kAllGather;

TEST_F(NodeCollectivesTest, BringsAllItsPartsAndNamesThemWhenTheyComplete) {
  const WaiterId node = Together({1, 0});
  EXPECT_TRUE(h.Parked(node));
  EXPECT_THAT(Missing(), ElementsAre(2));
  EXPECT_THAT(Arrived(), ElementsAre(0, 1));
  const WaiterId other = h.Barrier(p[2]);
  EXPECT_TRUE(h.StatusOf(other).ok());
  EXPECT_THAT(h.CompletedOf(node), ElementsAre(0, 1));
  EXPECT_THAT(h.PayloadsOf(node), IsEmpty());
}

TEST_F(NodeCollectivesTest, AnswersAsTheCollectiveDoes) {
  const WaiterId node = Together({0, 1}, kAllGather);
  const WaiterId other = h.Send(h.Request(p[2], kAllGather, "of 2"));
  EXPECT_THAT(h.PayloadsOf(node), ElementsAre("of 0", "of 1", "of 2"));
  EXPECT_THAT(h.PayloadsOf(other), ElementsAre("of 0", "of 1", "of 2"));
  const auto& shared = std::get<NodeAnswer>(h.ReplyTo(node).answer).answer;
  EXPECT_EQ(shared.encoding, std::get<CollectiveAnswer>(h.ReplyTo(other).answer).encoding)
      << "it is encoded once for all";

  for (uint32_t root : {1u, 2u}) {
    NodeCollectiveRequest gather = Batch({0, 1}, CollectiveKind::kGather);
    CollectiveRequest own = h.Request(p[2], CollectiveKind::kGather, "of 2");
    gather.call.root = own.root = root;
    const WaiterId a = h.Send(gather), b = h.Send(own);
    const auto whole = ElementsAre("of 0", "of 1", "of 2");
    EXPECT_THAT(h.PayloadsOf(root == 1 ? a : b), whole);
    EXPECT_THAT(h.PayloadsOf(root == 1 ? b : a), IsEmpty());
  }

  NodeCollectiveRequest broadcast = Batch({0, 1}, CollectiveKind::kBroadcast);
  broadcast.parts[0].payload = std::make_shared<std::string>();
  CollectiveRequest own = h.Request(p[2], CollectiveKind::kBroadcast);
  broadcast.call.root = own.root = 1;
  const WaiterId a = h.Send(broadcast), b = h.Send(own);
  EXPECT_THAT(h.PayloadsOf(a), ElementsAre("of 1"));
  EXPECT_THAT(h.PayloadsOf(b), ElementsAre("of 1"));
}

TEST_F(NodeCollectivesTest, CarriesTheAgreedStop) {
  h.Call(p[2], StopRequest());
  const WaiterId node = Together({0, 1});
  h.Barrier(p[2]);
  EXPECT_TRUE(std::get<NodeAnswer>(h.ReplyTo(node).answer).answer.stop_requested);
}

TEST_F(NodeCollectivesTest, AGroupOfSomeRanksArrivesOnItsOwn) {
  const std::vector<uint32_t> ranks = {1, 0};
  std::vector<CollectiveRequest> calls;
  for (uint32_t rank : ranks) {
    calls.push_back(h.Request(p[rank], kAllGather, absl::StrCat("of ", rank), "tp", ranks));
  }
  const WaiterId node = h.Send(Harness::Together(calls));
  EXPECT_THAT(h.CompletedOf(node), ElementsAre(0, 1));
  EXPECT_THAT(h.PayloadsOf(node), ElementsAre("of 1", "of 0"));
}

// ---- The end of the call, and the ends of its parts ----

TEST_F(NodeCollectivesTest, TheEndOfTheCallWithdrawsNothing) {
  const WaiterId node = Together({0, 1}, kAllGather);
  h.Cancel(node);
  EXPECT_THAT(Missing(), ElementsAre(2));
  const WaiterId other = h.Send(h.Request(p[2], kAllGather, "of 2"));
  EXPECT_THAT(h.PayloadsOf(other), ElementsAre("of 0", "of 1", "of 2"));
  EXPECT_THAT(h.PayloadsOf(Alone(0, kAllGather)), ElementsAre("of 0", "of 1", "of 2"));
  EXPECT_THAT(h.PayloadsOf(Alone(1, kAllGather)), ElementsAre("of 0", "of 1", "of 2"));
}

TEST_F(NodeCollectivesTest, ALaterSendOfAMemberTakesThePlaceOfItsPart) {
  const WaiterId node = Together({0, 1});
  const WaiterId own = Alone(1);
  EXPECT_TRUE(h.Parked(node) && h.Parked(own));
  EXPECT_THAT(Arrived(), ElementsAre(0, 1)) << "counted once each";
  h.Barrier(p[2]);
  EXPECT_TRUE(h.StatusOf(own).ok());
  EXPECT_THAT(h.CompletedOf(node), ElementsAre(0)) << "rank 1 is answered by its own call";
}

TEST_F(NodeCollectivesTest, ABatchWhoseLastPartEndedQuietlyIsSentAgain) {
  const WaiterId node = Together({0, 1});
  const WaiterId first = Alone(0);
  EXPECT_TRUE(h.Parked(node));
  const WaiterId second = Alone(1);
  EXPECT_TRUE(IsResent(node));
  h.Barrier(p[2]);
  EXPECT_TRUE(h.StatusOf(first).ok() && h.StatusOf(second).ok());
}

TEST_F(NodeCollectivesTest, AnErrorIsReportedByTheMembersOwnCalls) {
  const WaiterId node = Together({0, 1});
  const WaiterId other = h.Send(h.Request(p[2], kAllGather, "of 2"));
  EXPECT_EQ(h.StatusOf(other).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(IsResent(node));
  EXPECT_EQ(h.StatusOf(Alone(0)), h.StatusOf(other));
}

TEST_F(NodeCollectivesTest, APartEndsWithItsWait) {
  NodeCollectiveRequest batch = Batch({0, 1});
  batch.parts[0].wait_timeout = absl::Seconds(1);
  const WaiterId node = h.Send(batch);
  h.Advance(absl::Seconds(1));
  EXPECT_TRUE(h.Parked(node)) << "rank 1 waits on";
  EXPECT_THAT(Arrived(), ElementsAre(1));
  EXPECT_THAT(Missing(), ElementsAre(2)) << "rank 0 had come";
  EXPECT_THAT(Log(), Not(HasSubstr("waited 1s"))) << "its own call will say so";
  EXPECT_TRUE(h.Parked(h.Barrier(p[2])));
  EXPECT_TRUE(h.StatusOf(Alone(0)).ok());
  EXPECT_THAT(h.CompletedOf(node), ElementsAre(1));
}

TEST_F(NodeCollectivesTest, PartsInheritTheTimeoutOfTheCall) {
  NodeCollectiveRequest batch = Batch({0, 1});
  batch.call.call.wait_timeout = absl::Seconds(1);
  batch.parts[0].wait_timeout.reset();
  batch.parts[1].wait_timeout.reset();
  const WaiterId node = h.Send(batch);
  h.Advance(absl::Seconds(1));
  EXPECT_TRUE(IsResent(node));
}

TEST_F(NodeCollectivesTest, ADetachedMembersPartDoesNotCount) {
  const WaiterId node = Together({0, 1});
  h.CloseStream(p[1]);
  EXPECT_THAT(Arrived(), ElementsAre(0));
  const WaiterId other = h.Barrier(p[2]);
  EXPECT_TRUE(h.Parked(other) && h.Parked(node));
  h.Attach(p[1], h.ClaimOf(p[1], 0));
  const WaiterId own = Alone(1);
  EXPECT_TRUE(h.StatusOf(other).ok() && h.StatusOf(own).ok());
  EXPECT_THAT(h.CompletedOf(node), ElementsAre(0));
}

TEST_F(NodeCollectivesTest, TheSendersEndLeavesTheOthersParked) {
  Together({0, 1});
  h.CloseStream(p[0]);
  EXPECT_THAT(Arrived(), ElementsAre(1));
}

TEST_F(NodeCollectivesTest, APartEndsWithItsMembersSession) {
  const WaiterId node = Together({0, 1});
  h.Attach(p[1], h.ClaimOf(p[1], 0));  // before the old stream's end is known
  EXPECT_THAT(Arrived(), ElementsAre(0));
  EXPECT_TRUE(h.Parked(h.Barrier(p[2])) && h.Parked(node));
}

TEST_F(NodeCollectivesTest, ALossAndALeaveEndItForAll) {
  const WaiterId node = Together({0, 1});
  h.Leave(p[2]);
  EXPECT_TRUE(IsResent(node));
  EXPECT_THAT(std::string(h.StatusOf(Alone(0)).message()), HasSubstr("has called Leave"));

  Harness lossy(2);
  std::vector<Process> q = lossy.Formed(2);
  const WaiterId parked = lossy.Send(Harness::Together({lossy.Request(q[0], kBarrier)}));
  lossy.ReportExit(q[1], true, 9);
  EXPECT_THAT(lossy.CompletedOf(parked), IsEmpty());
  EXPECT_EQ(lossy.StatusOf(lossy.Send(Harness::Together({lossy.Request(q[0], kBarrier)}))),
            absl::OkStatus());
  EXPECT_EQ(lossy.StatusOf(lossy.Barrier(q[0])).code(), absl::StatusCode::kAborted);
}

TEST_F(NodeCollectivesTest, ADrainEndsEveryBatch) {
  const WaiterId node = Together({0, 1});
  h.Absorb(0, h.coordinator().Step(h.now(), 0, DrainBegun{"it stops"}));
  EXPECT_TRUE(IsResent(node));
  EXPECT_EQ(h.StatusOf(h.Send(Batch({0, 1}))).code(), absl::StatusCode::kUnavailable);
}

// ---- Late and duplicate calls ----

TEST_F(NodeCollectivesTest, ADuplicateChangesNothing) {
  const NodeCollectiveRequest batch = Batch({0, 1});
  const WaiterId node = h.Send(batch);
  EXPECT_TRUE(IsResent(h.Send(batch)));
  EXPECT_THAT(Arrived(), ElementsAre(0, 1));
  h.Barrier(p[2]);
  EXPECT_THAT(h.CompletedOf(node), ElementsAre(0, 1));
  EXPECT_TRUE(IsResent(h.Send(batch))) << "its number is over";
}

TEST_F(NodeCollectivesTest, ALateBatchDoesNotCountForMembersThatHaveSentSince) {
  const NodeCollectiveRequest late = Batch({0, 1});
  h.Cancel(Alone(1));
  EXPECT_THAT(Arrived(), IsEmpty());
  const WaiterId node = h.Send(late);
  EXPECT_TRUE(h.Parked(node));
  EXPECT_THAT(Arrived(), ElementsAre(0));
  EXPECT_TRUE(h.Parked(h.Barrier(p[2])));
}

TEST_F(NodeCollectivesTest, APartThatCompletesInTheMiddleOfItsBatchIsNamed) {
  const NodeCollectiveRequest late = Batch({0, 1});
  const WaiterId own = Alone(1);
  const WaiterId other = h.Barrier(p[2]);
  const WaiterId node = h.Send(late);
  EXPECT_TRUE(h.StatusOf(own).ok() && h.StatusOf(other).ok());
  EXPECT_THAT(h.CompletedOf(node), ElementsAre(0));
}

// ---- WithdrawArrival ----

TEST_F(NodeCollectivesTest, AWithdrawnArrivalDoesNotCount) {
  const WaiterId node = Together({0, 1});
  EXPECT_TRUE(h.StatusOf(h.Withdraw(p[1], 0)).ok());
  EXPECT_THAT(Arrived(), ElementsAre(0));
  EXPECT_TRUE(h.Parked(h.Barrier(p[2])) && h.Parked(node));
  EXPECT_TRUE(h.StatusOf(Alone(1)).ok()) << "the number is not consumed";
  EXPECT_THAT(h.CompletedOf(node), ElementsAre(0));
}

TEST_F(NodeCollectivesTest, AnArrivalThatWasWithdrawnInAdvanceDoesNotCount) {
  const NodeCollectiveRequest late = Batch({0, 1});
  EXPECT_TRUE(h.StatusOf(h.Withdraw(p[1], 0)).ok());
  const WaiterId node = h.Send(late);
  EXPECT_TRUE(h.Parked(node));
  EXPECT_THAT(Arrived(), ElementsAre(0));
  EXPECT_THAT(Missing(), ElementsAre(1, 2));
  EXPECT_TRUE(h.Parked(h.Barrier(p[2])));
  EXPECT_TRUE(h.StatusOf(Alone(1)).ok());
}

TEST_F(NodeCollectivesTest, AWithdrawalIsRememberedForAGroupThatIsNotCalledYet) {
  const GroupName group = {"tp", {0, 1}};
  std::vector<CollectiveRequest> calls;
  for (uint32_t rank : {0, 1}) {
    calls.push_back(h.Request(p[rank], kBarrier, "", group.name, group.ranks));
  }
  EXPECT_TRUE(h.StatusOf(h.Withdraw(p[1], 0, group)).ok());
  EXPECT_TRUE(h.Parked(h.Send(Harness::Together(calls))));
}

TEST_F(NodeCollectivesTest, ALateWithdrawalLeavesALaterSendAlone) {
  const WithdrawRequest late{h.Context(p[1]), p[1].epoch, {}, 0};
  Together({0, 1});
  const WaiterId id = h.NextId();
  h.Absorb(id, h.coordinator().Step(h.now(), id, late));
  EXPECT_TRUE(h.StatusOf(id).ok());
  EXPECT_THAT(Arrived(), ElementsAre(0, 1));
}

TEST_F(NodeCollectivesTest, AWithdrawalAfterTheEndIsAcknowledged) {
  Together({0, 1});
  h.Barrier(p[2]);
  EXPECT_TRUE(h.StatusOf(h.Withdraw(p[1], 0)).ok());
  EXPECT_TRUE(h.StatusOf(Alone(1)).ok()) << "the result is kept for it";
}

TEST_F(NodeCollectivesTest, AWithdrawalIsCheckedAsOtherCallsAre) {
  EXPECT_EQ(h.StatusOf(h.Withdraw(p[0], 1)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(h.StatusOf(h.Withdraw(p[0], 0, {"x", {}})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(h.StatusOf(h.Withdraw(p[0], 0, {"a\n", {0}})).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(h.StatusOf(h.Withdraw(p[0], ~uint64_t{0})).code(), absl::StatusCode::kInvalidArgument);
  Process old = p[0];
  old.epoch.nonce += 1;
  EXPECT_EQ(h.StatusOf(h.Withdraw(old, 0)).code(), absl::StatusCode::kAborted);
  Process stranger = h.Attached("a");
  EXPECT_EQ(h.StatusOf(h.Withdraw(stranger, 0)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(NodeCollectivesTest, ARecoveringDaemonNotesAWithdrawalWhenItIsDone) {
  h.Restart();
  h.Recover(p[0], 0);
  h.Recover(p[1], 0);
  const WaiterId withdrawn = h.Withdraw(p[1], 0);
  EXPECT_TRUE(h.Parked(withdrawn));
  h.Recover(p[2], 0);
  EXPECT_TRUE(h.StatusOf(withdrawn).ok()) << h.StatusOf(withdrawn);
}

// ---- How they are shown ----

TEST_F(NodeCollectivesTest, AnArrivedRankIsNotListedAsMissing) {
  const WaiterId node = Together({0});
  const WaiterId own = h.Barrier(p[1], "", absl::Seconds(1));
  h.Cancel(node);
  h.Advance(absl::Seconds(1));
  EXPECT_THAT(std::string(h.StatusOf(own).message()), HasSubstr("missing 1 of 3: rank 2 (node"));
}

TEST_F(NodeCollectivesTest, TheStatusShowsItsNodesAndWhatItsMembersWaitIn) {
  EXPECT_THAT(h.coordinator().GetStatus(h.now()).node_collective_nodes, IsEmpty());
  Together({0, 1});
  const JobStatus status = h.coordinator().GetStatus(h.now());
  EXPECT_THAT(status.node_collective_nodes, ElementsAre("a"));
  EXPECT_EQ(status.members[1].waiting_in, "Barrier() op 0 of the world");
  EXPECT_EQ(status.members[1].last_collective, "Barrier() op 0 of the world");
  EXPECT_THAT(status.members[1].activity, HasSubstr("in Barrier() op 0 of the world"));
}

// ---- After a restart ----

// Rank 2 has the result of op 0, and the others arrive at it together. The daemon asks rank 2 for
// its contribution.
TEST_F(NodeCollectivesTest, ACompletedNumberIsCalledByEachMember) {
  h.Restart();
  h.Recover(p[0], 0);
  h.Recover(p[1], 0);
  h.Recover(p[2], 1);
  EXPECT_TRUE(IsResent(Together({0, 1}, kAllGather)));
  const WaiterId own = Alone(0, kAllGather);
  EXPECT_EQ(h.Events<NeedContribution>(p[2].stream).size(), 1u);
  Alone(1, kAllGather);
  h.SendAt(p[2], 0, kAllGather, "of 2");
  EXPECT_THAT(h.PayloadsOf(own), ElementsAre("of 0", "of 1", "of 2"));
}

TEST_F(NodeCollectivesTest, MembersThatAreBackArriveTogether) {
  h.Restart();
  for (Process& process : p) h.Recover(process, 5);
  const WaiterId node = Together({0, 1}, kAllGather);
  h.Send(h.Request(p[2], kAllGather, "of 2"));
  EXPECT_THAT(h.CompletedOf(node), ElementsAre(0, 1));
  EXPECT_THAT(h.PayloadsOf(node), ElementsAre("of 0", "of 1", "of 2"));
}

}  // namespace
}  // namespace muster::core
