// NodeCollective and WithdrawArrival: arrivals that come together are arrivals like any other.

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/validation.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr auto kBarrier = CollectiveKind::kBarrier;
constexpr auto kAllGather = CollectiveKind::kAllGather;

// A job with some ranks on node "a" and then some on node "b".
class NodeCollectivesTest : public ::testing::Test {
 protected:
  explicit NodeCollectivesTest(uint32_t on_a = 2, uint32_t on_b = 1)
      : NodeCollectivesTest(Harness::DefaultOptions(on_a + on_b), on_a) {}
  NodeCollectivesTest(const core::Options& options, uint32_t on_a) : h(options) {
    std::vector<WaiterId> joins;
    for (uint32_t i = 0; i < options.world_size; ++i) {
      p.push_back(h.Attached(i < on_a ? "a" : "b"));
      p.back().rank = i;
    }
    for (Process& process : p) joins.push_back(h.Join(process));
    for (size_t i = 0; i < p.size(); ++i) h.TakePlace(p[i], joins[i]);
  }

  // The next call of each of these ranks.
  std::vector<CollectiveRequest> Calls(const std::vector<uint32_t>& ranks,
                                       CollectiveKind kind = kBarrier) {
    std::vector<CollectiveRequest> calls;
    for (uint32_t rank : ranks) {
      const bool brings = kind != kBarrier;
      calls.push_back(h.Request(p[rank], kind, brings ? absl::StrCat("of ", rank) : ""));
    }
    return calls;
  }
  NodeCollectiveRequest Batch(const std::vector<uint32_t>& ranks, CollectiveKind kind = kBarrier) {
    return Harness::Together(Calls(ranks, kind));
  }
  WaiterId Together(const std::vector<uint32_t>& ranks, CollectiveKind kind = kBarrier) {
    return h.Send(Batch(ranks, kind));
  }
  // The rank calls by itself what it has called together with others.
  WaiterId Alone(uint32_t rank, CollectiveKind kind = kBarrier) {
    --p[rank].next[""];
    return h.Send(Calls({rank}, kind).front());
  }
  bool IsResent(WaiterId id) {
    return !h.Parked(id) && h.StatusOf(id).ok() && h.CompletedOf(id).empty();
  }
  std::vector<uint32_t> Missing() {
    const JobStatus status = h.coordinator().GetStatus(h.now());
    return status.pending.empty() ? std::vector<uint32_t>{99} : status.pending[0].missing;
  }
  std::vector<uint32_t> Arrived() {
    const JobStatus status = h.coordinator().GetStatus(h.now());
    return status.pending.empty() ? std::vector<uint32_t>() : status.pending[0].arrived;
  }
  std::string Log() {
    std::string text;
    for (const LogLine& line : h.log()) absl::StrAppend(&text, line.text, "\n");
    return text;
  }

  Harness h;
  std::vector<Process> p;
};

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
  h.RequestStop(p[2]);
  const WaiterId node = Together({0, 1});
  h.Barrier(p[2]);
  EXPECT_TRUE(std::get<NodeAnswer>(h.ReplyTo(node).answer).answer.stop_requested);
}

TEST_F(NodeCollectivesTest, AGroupOfSomeRanksMeetsByItself) {
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

TEST_F(NodeCollectivesTest, WhoseLastPartHasEndedQuietlyIsSentAgain) {
  const WaiterId node = Together({0, 1});
  const WaiterId first = Alone(0);
  EXPECT_TRUE(h.Parked(node));
  const WaiterId second = Alone(1);
  EXPECT_TRUE(IsResent(node));
  h.Barrier(p[2]);
  EXPECT_TRUE(h.StatusOf(first).ok() && h.StatusOf(second).ok());
}

TEST_F(NodeCollectivesTest, AnErrorIsToldByTheMembersOwnCalls) {
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

TEST_F(NodeCollectivesTest, PartsWithoutAWaitOfTheirOwnHaveTheCalls) {
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

TEST_F(NodeCollectivesTest, ADaemonThatStopsLeavesNoneBehind) {
  const WaiterId node = Together({0, 1});
  h.Absorb(0, h.coordinator().Drain(h.now(), "it stops"));
  EXPECT_TRUE(IsResent(node));
  EXPECT_EQ(h.StatusOf(h.Send(Batch({0, 1}))).code(), absl::StatusCode::kUnavailable);
}

// ---- Late and doubled ones ----

TEST_F(NodeCollectivesTest, ADoubledOneChangesNothing) {
  const NodeCollectiveRequest batch = Batch({0, 1});
  const WaiterId node = h.Send(batch);
  EXPECT_TRUE(IsResent(h.Send(batch)));
  EXPECT_THAT(Arrived(), ElementsAre(0, 1));
  h.Barrier(p[2]);
  EXPECT_THAT(h.CompletedOf(node), ElementsAre(0, 1));
  EXPECT_TRUE(IsResent(h.Send(batch))) << "its number is over";
}

TEST_F(NodeCollectivesTest, ALateOneDoesNotCountForWhoHasSentSince) {
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

TEST_F(NodeCollectivesTest, WhatIsWithdrawnBeforeItArrivesDoesNotCount) {
  const NodeCollectiveRequest late = Batch({0, 1});
  EXPECT_TRUE(h.StatusOf(h.Withdraw(p[1], 0)).ok());
  const WaiterId node = h.Send(late);
  EXPECT_TRUE(h.Parked(node));
  EXPECT_THAT(Arrived(), ElementsAre(0));
  EXPECT_THAT(Missing(), ElementsAre(1, 2));
  EXPECT_TRUE(h.Parked(h.Barrier(p[2])));
  EXPECT_TRUE(h.StatusOf(Alone(1)).ok());
}

TEST_F(NodeCollectivesTest, TheNoteOutlivesAGroupThatNobodyHasCalledYet) {
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
  h.Absorb(id, h.coordinator().WithdrawArrival(h.now(), id, late));
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

// ---- What cannot be taken is sent again by each member ----

class ResendTest : public NodeCollectivesTest {
 protected:
  ResendTest() : NodeCollectivesTest(3, 1) {}

  // The batch is not taken, says the log, and has left nothing behind.
  void ExpectResent(const NodeCollectiveRequest& batch, const std::string& why) {
    EXPECT_TRUE(IsResent(h.Send(batch))) << why;
    EXPECT_THAT(Log(), HasSubstr(why));
    EXPECT_THAT(Arrived(), IsEmpty()) << why;
  }
};

TEST_F(ResendTest, Recovering) {
  h.Restart();
  h.Recover(p[0], 0);
  h.Recover(p[1], 0);
  ExpectResent(Batch({0, 1}), "the coordinator recovers");
}

TEST_F(ResendTest, ANumberThatIsNotTheCurrentOne) {
  p[0].next[""] = p[1].next[""] = 1;
  ExpectResent(Batch({0, 1}), "op 1 of the world, which is at op 0");
}

TEST_F(ResendTest, ASenderThatIsDetachedOrNoPart) {
  NodeCollectiveRequest batch = Batch({1, 2});
  batch.call.call = h.Context(p[0]);
  ExpectResent(batch, "the sender is not among them");
  h.CloseStream(p[0]);
  ExpectResent(Batch({0, 1}), "is detached");
}

TEST_F(ResendTest, AMemberThatIsDetachedOrHasAnotherSession) {
  const NodeCollectiveRequest old = Batch({0, 1});
  h.CloseStream(p[1]);
  ExpectResent(old, "is detached");
  h.Attach(p[1], h.ClaimOf(p[1], 0));
  ExpectResent(old, "is not a current one");
  NodeCollectiveRequest guessed = Batch({0, 2});
  guessed.parts[1].session.key ^= 1;
  ExpectResent(guessed, "is not a current one");
}

TEST_F(ResendTest, AMemberOfAnotherNode) { ExpectResent(Batch({0, 3}), "is on another node"); }

TEST_F(ResendTest, AMemberTwice) {
  std::vector<CollectiveRequest> calls = Calls({0, 1});
  calls.push_back(calls[1]);
  ++calls[2].call.attempt;
  ExpectResent(Harness::Together(calls), "is named twice");
}

TEST_F(ResendTest, AMemberThatHasNoPlace) {
  Process newcomer = h.Attached("a");
  CollectiveRequest call = h.Request(newcomer, kBarrier);
  std::vector<CollectiveRequest> calls = Calls({0});
  calls.push_back(call);
  ExpectResent(Harness::Together(calls), "has not joined");
}

TEST_F(ResendTest, AMemberOutsideTheGroup) {
  NodeCollectiveRequest batch = Batch({0, 2});
  batch.call.group = {"tp", {0, 1}};
  ExpectResent(batch, "is not in group 'tp'");
}

TEST_F(ResendTest, AMemberThatLeaves) {
  h.Leave(p[1]);
  ExpectResent(Batch({0, 2}), "has called Leave");
}

TEST_F(ResendTest, AnotherEpoch) {
  NodeCollectiveRequest batch = Batch({0, 1});
  ++batch.call.epoch.nonce;
  ExpectResent(batch, "is not the current one");
}

TEST_F(ResendTest, APayloadThatDoesNotFitTheCall) {
  NodeCollectiveRequest batch = Batch({0, 1}, kAllGather);
  batch.call.payload_size = 3;
  ExpectResent(batch, "sends a payload of 4 bytes");
  p[0].next[""] = p[1].next[""] = 0;
  batch = Batch({0, 1}, CollectiveKind::kBroadcast);
  ExpectResent(batch, "only the root does");
  batch.call.root = 4;
  ExpectResent(batch, "root 4 is out of range");
}

TEST(NodeLimitsTest, CallsThatWaitAreCountedMemberByMember) {
  core::Options options = Harness::DefaultOptions(3);
  options.limits.max_waiters_per_member = 1;
  Harness h(options);
  std::vector<Process> p = h.Formed(3);
  h.Acquire(p[2], "held", 1);
  h.Acquire(p[1], "held", 1);
  const auto batch = [&] {
    return Harness::Together({h.Request(p[0], kBarrier), h.Request(p[1], kBarrier)});
  };
  EXPECT_THAT(h.CompletedOf(h.Send(batch())), IsEmpty());
  options.limits.max_waiters_per_member = 2;
  options.limits.max_waiters = 3;
  Harness tight(options);
  p = tight.Formed(3);
  for (uint32_t rank : {2, 1, 0}) tight.Acquire(p[rank], "held", 1);
  const NodeCollectiveRequest two =
      Harness::Together({tight.Request(p[0], kBarrier), tight.Request(p[1], kBarrier)});
  EXPECT_THAT(tight.CompletedOf(tight.Send(two)), IsEmpty());
}

TEST(NodeLimitsTest, HeldBytesAreCountedPartByPartAndReleased) {
  core::Options options = Harness::DefaultOptions(2);
  options.limits.max_held_bytes = 60;
  Harness h(options);
  std::vector<Process> p = h.Formed(2);
  const auto gather = [&](size_t bytes) {
    return h.Send(Harness::Together({h.Request(p[0], kAllGather, std::string(bytes, 'a')),
                                     h.Request(p[1], kAllGather, std::string(bytes, 'b'))}));
  };
  for (int round = 0; round < 20; ++round) {
    ASSERT_THAT(h.CompletedOf(gather(10)), ElementsAre(0, 1)) << "in round " << round;
  }
  EXPECT_THAT(h.CompletedOf(gather(21)), IsEmpty());
  for (Process& process : p) --process.next[""];
  const WaiterId own = h.Send(h.Request(p[1], kAllGather, std::string(21, 'b')));
  EXPECT_EQ(h.StatusOf(own).code(), absl::StatusCode::kResourceExhausted);
}

// What is refused to all is refused to the parts that come after it in the same batch as well.
TEST(NodeLimitsTest, AnAnswerThatIsTooLargeIsRefusedToAllAndCalledAgain) {
  core::Options options = Harness::DefaultOptions(3);
  options.limits.max_answer_bytes = 100;
  options.limits.max_payload_bytes = 60;
  Harness h(options);
  std::vector<Process> p = h.Formed(3);
  const auto gather = [&](size_t bytes, uint32_t refusals) {
    std::vector<CollectiveRequest> calls;
    for (Process& process : p) {
      process.next[""] = 0;
      calls.push_back(h.Request(process, kAllGather, std::string(bytes, 'x')));
      calls.back().refusals = refusals;
    }
    return calls;
  };
  const std::vector<CollectiveRequest> large = gather(50, 0);
  EXPECT_THAT(h.CompletedOf(h.Send(Harness::Together(large))), IsEmpty());
  for (CollectiveRequest call : gather(50, 0)) {
    EXPECT_EQ(h.StatusOf(h.Send(call)).code(), absl::StatusCode::kOutOfRange);
  }
  EXPECT_THAT(h.CompletedOf(h.Send(Harness::Together(large))), IsEmpty()) << "a late one";
  EXPECT_THAT(h.CompletedOf(h.Send(Harness::Together(gather(10, 1)))), ElementsAre(0, 1, 2));
}

TEST_F(NodeCollectivesTest, MalformedOnesAreRefusedAtTheDoor) {
  const auto code = [&](const std::function<void(NodeCollectiveRequest*)>& spoil) {
    NodeCollectiveRequest batch = Batch({0, 1});
    spoil(&batch);
    return h.StatusOf(h.Send(batch)).code();
  };
  using Code = absl::StatusCode;
  EXPECT_EQ(code([](auto* r) { r->parts.clear(); }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto* r) { r->parts.resize(kMaxNodeParts + 1, r->parts[0]); }),
            Code::kResourceExhausted);
  EXPECT_EQ(code([](auto* r) { r->call.label = std::string(257, 'x'); }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto* r) { r->parts[1].call_site = "a\n"; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto* r) { r->call.sequence = ~uint64_t{0}; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto* r) { r->call.call.job_id = "other"; }), Code::kNotFound);
  EXPECT_EQ(code([](auto* r) { ++r->call.call.session.daemon_instance; }), Code::kUnavailable);
  EXPECT_EQ(code([](auto* r) { ++r->call.call.session.key; }), Code::kAborted);
  const uint64_t over = h.coordinator().options().limits.max_payload_bytes + 1;
  EXPECT_EQ(
      code([over](auto* r) { r->parts[1].payload = std::make_shared<std::string>(over, 'x'); }),
      Code::kResourceExhausted);
}

// ---- What is said of them ----

TEST_F(NodeCollectivesTest, WhoHasArrivedIsNotTakenForMissing) {
  const WaiterId node = Together({0});
  const WaiterId own = h.Barrier(p[1], "", absl::Seconds(1));
  h.Cancel(node);
  h.Advance(absl::Seconds(1));
  EXPECT_THAT(std::string(h.StatusOf(own).message()), HasSubstr("missing 1 of 3: rank 2;"));
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

// Rank 2 has the result of op 0, and the others come together to it: what they need of it is asked
// for.
TEST_F(NodeCollectivesTest, ANumberThatOthersHaveCompletedIsCalledByEachItself) {
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
