// Tests of one member's decisions about node fan-in, with a stepped clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/src/protocol/member_core.h"
#include "client/src/protocol/messages/messages.h"
#include "client/src/protocol/node_completion.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr EpochId kEpoch{7, 8};

// Rank 1 of 3, with rank 0 on the same node, and a clock. The test plays the network and the node
// by hand.
class NodeMachine {
 public:
  explicit NodeMachine(bool node_fanin = true) : member_(OptionsOf(node_fanin)) {
    Take(member_.Start(now_));
    Accept(1);
    Take(member_.Join(now_, 1, JobOptions(), Deadline(now_, absl::Hours(1))));
    v1::JoinResponse place;
    place.mutable_epoch()->set_number(kEpoch.number);
    place.mutable_epoch()->set_nonce(kEpoch.nonce);
    place.set_rank(1);
    for (const char* node : {"a", "a", "b"}) {
      place.add_roster()->mutable_member()->set_node_id(node);
    }
    Reply(absl::OkStatus(), place);
  }

  void Accept(uint64_t session, bool node_collectives = true, uint64_t daemon_instance = 1) {
    v1::AttachResponse response;
    v1::Attached* const attached = response.mutable_attached();
    attached->mutable_member_grace()->set_seconds(2);
    attached->mutable_session()->set_counter(session);
    attached->mutable_session()->set_daemon_instance(daemon_instance);
    attached->mutable_limits()->set_max_name_bytes(64);
    attached->set_node_collectives(node_collectives);
    Take(member_.OnStreamResponse(now_, stream_, response));
  }
  void EndStream() {
    Take(member_.OnStreamEnd(now_, stream_, absl::UnavailableError("connection reset")));
  }
  void Step() {
    now_ = std::max(now_, member_.NextDeadline());
    Take(member_.Tick(now_));
  }
  void Advance(absl::Duration duration) {
    const SteadyTime end = After(now_, duration);
    while (member_.NextDeadline() <= end) Step();
    now_ = end;
  }

  void Collective(CallId id, CollectiveCall call, const std::string& group = "",
                  const std::vector<int>& ranks = {}) {
    Take(member_.Collective(now_, id, {kEpoch, group, ranks}, std::move(call),
                            Deadline(now_, absl::Minutes(1))));
  }
  void Barrier(CallId id) { Collective(id, CollectiveCall()); }
  void Cancel(CallId id) { Take(member_.Cancel(now_, id)); }
  void Rejoin(CallId id) { Take(member_.Rejoin(now_, id, kEpoch, Deadline(now_, absl::Hours(1)))); }
  void Leave(CallId id) { Take(member_.Leave(now_, id, kEpoch, Deadline(now_, absl::Hours(1)))); }

  // Ends the latest round.
  void EndRound(FanInEnd::Kind kind, std::string answer = "") {
    Take(member_.OnFanInEnd(now_, round().contribution.attempt,
                            {kind, /*unsent=*/false, /*was_taken=*/true, std::move(answer)}));
  }
  void EndRoundAlone() {
    Take(member_.OnFanInEnd(now_, round().contribution.attempt,
                            {FanInEnd::kCallAlone, /*unsent=*/true, false, {}}));
  }
  // Makes this member send for itself and for rank 0.
  void SendForNode(CallId id, absl::Duration patience = absl::Milliseconds(150)) {
    Contribution other = round().contribution;
    other.session_counter = 99;
    const std::vector<TakenPart> parts = {{1, {}, round().contribution}, {0, {}, other}};
    Take(member_.SendForNode(now_, id, round().contribution.attempt, parts, patience));
  }
  // Answers the latest call that was sent.
  void Reply(const absl::Status& status, Response response = {}) {
    Take(member_.OnReply(now_, sends_.back().attempt, status, std::move(response)));
  }

  const StartFanIn& round() const { return rounds_.back(); }
  size_t rounds() const { return rounds_.size(); }
  size_t skips() const { return skips_; }
  const std::optional<EnterNode>& entered() const { return entered_; }
  // Returns what has happened since the last call: "meet", "leave 5", "attach", "cancel", or the
  // kind of a call that was sent.
  std::vector<std::string> TakeLog() { return std::exchange(log_, {}); }
  const SendCall& sent() const { return sends_.back(); }
  // Returns nullptr while the call goes on.
  const absl::StatusOr<Response>* EndOf(CallId id) const {
    const auto end = ends_.find(id);
    return end == ends_.end() ? nullptr : &end->second;
  }
  bool Succeeded(CallId id) const { return EndOf(id) != nullptr && EndOf(id)->ok(); }

 private:
  static MemberOptions OptionsOf(bool node_fanin) {
    MemberOptions options;
    options.coordinator = "host:7370";
    options.job_id = "run";
    options.coordinator_timeout = absl::Minutes(10);
    options.node_fanin = node_fanin;
    options.random = [engine = std::mt19937_64(1)]() mutable { return engine(); };
    options.connected = [] { return true; };
    return options;
  }

  void Take(const SendCall& send) {
    sends_.push_back(send);
    log_.push_back(
        std::visit([](const auto& r) { return r.GetDescriptor()->name(); }, send.request));
  }
  void Take(const OpenStream& open) {
    stream_ = open.attempt;
    log_.push_back("attach");
  }
  void Take(const CancelSend&) { log_.push_back("cancel"); }
  void Take(const EnterNode& enter) { entered_ = enter; }
  void Take(const StartFanIn& meet) {
    rounds_.push_back(meet);
    log_.push_back("meet");
  }
  void Take(const RetireFanInGroup&) { log_.push_back("retire"); }
  void Take(const LeaveFanIn& leave) {
    EXPECT_EQ(leave.attempt, round().contribution.attempt);
    log_.push_back("leave");
  }
  void Take(const SkipFanIn&) { ++skips_; }
  void Take(const WriteLog&) {}
  void Take(Effects effects) {
    for (const Output& output : effects.outputs) {
      std::visit([this](const auto& what) { Take(what); }, output);
    }
    for (Completion& completion : effects.completions) {
      EXPECT_TRUE(ends_.emplace(completion.call, std::move(completion.reply)).second);
    }
  }

  SteadyTime now_;
  MemberCore member_;
  uint64_t stream_ = 0;
  std::vector<SendCall> sends_;
  std::vector<StartFanIn> rounds_;
  std::optional<EnterNode> entered_;
  size_t skips_ = 0;
  std::vector<std::string> log_;
  std::map<CallId, absl::StatusOr<Response>> ends_;
};

CollectiveCall AllGatherOf(size_t bytes) {
  CollectiveCall call;
  call.kind = CollectiveKind::kAllGather;
  call.payload.assign(bytes, 'x');
  return call;
}

TEST(MemberCoreNodeTest, EntersTheNodeWithItsMembers) {
  NodeMachine m;
  ASSERT_TRUE(m.entered());
  EXPECT_EQ(m.entered()->node_id, "a");
  EXPECT_EQ(m.entered()->members, 2u);
  EXPECT_EQ(m.entered()->self, 1u);
  EXPECT_EQ(m.entered()->max_answer_bytes, MaxFanInAnswerBytes(2));
  m.Barrier(2);
  EXPECT_THAT(m.round().group->members, ElementsAre(0, 1));
}

TEST(MemberCoreNodeTest, UsesNoFanInIfDisabledOrUnsupported) {
  NodeMachine off(/*node_fanin=*/false);
  off.Barrier(2);
  NodeMachine old;
  old.EndStream();
  old.Step();
  old.Accept(2, /*node_collectives=*/false);
  old.Barrier(2);
  EXPECT_FALSE(off.entered());
  EXPECT_EQ(off.rounds() + old.rounds(), 0u);
}

TEST(MemberCoreNodeTest, GroupsWithoutOtherMembersOfTheNodeUseNoFanIn) {
  NodeMachine m;
  m.Collective(2, CollectiveCall(), "across", {1, 2});
  EXPECT_EQ(m.rounds(), 0u);
  m.Collective(3, CollectiveCall(), "all", {2, 1, 0});
  EXPECT_EQ(m.rounds(), 1u);
}

TEST(MemberCoreNodeTest, AnAnswerOfTheNodeCompletesTheCollective) {
  NodeMachine m;
  m.Barrier(2);
  m.EndRound(FanInEnd::kAnswered);
  EXPECT_TRUE(m.Succeeded(2));
  m.Barrier(3);
  EXPECT_EQ(m.round().contribution.sequence, 1u);
}

TEST(MemberCoreNodeTest, AMalformedAnswerLeadsToAnOwnCall) {
  NodeMachine m;
  m.TakeLog();
  m.Barrier(2);
  m.EndRound(FanInEnd::kAnswered, "\xff\xff\xff");
  EXPECT_THAT(m.TakeLog(), ElementsAre("meet", "BarrierRequest"));
}

TEST(MemberCoreNodeTest, ALoneMemberSendsItsPostedArrival) {
  NodeMachine m;
  m.Barrier(2);
  m.EndRoundAlone();
  EXPECT_EQ(m.sent().attempt, m.round().contribution.attempt);
  m.Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(m.Succeeded(2));
}

TEST(MemberCoreNodeTest, LargeCollectivesSkipFanIn) {
  NodeMachine m;
  m.Collective(2, AllGatherOf(100'000));
  EXPECT_EQ(m.rounds(), 0u);
  EXPECT_EQ(m.skips(), 1u);
  v1::AllGatherResponse answer;
  for (int i = 0; i < 3; ++i) answer.add_payloads(std::string(100'000, 'x'));
  m.Reply(absl::OkStatus(), answer);
  m.Collective(3, AllGatherOf(10));
  EXPECT_EQ(m.rounds(), 0u) << "others may bring as much as they did";
  m.Reply(absl::OkStatus(), v1::AllGatherResponse());
  m.Collective(4, AllGatherOf(10));
  EXPECT_EQ(m.rounds(), 1u);
}

TEST(MemberCoreNodeTest, AnAbandonedArrivalIsWithdrawnUntilAcknowledged) {
  NodeMachine m;
  m.Barrier(2);
  const uint64_t posted = m.round().contribution.attempt;
  m.TakeLog();
  m.Cancel(2);
  EXPECT_THAT(m.TakeLog(), ElementsAre("leave", "WithdrawArrivalRequest"));
  uint64_t last = posted;
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(m.sent().attempt, last);
    last = m.sent().attempt;
    m.Reply(absl::UnavailableError("connection reset"));
    m.Advance(absl::Minutes(1));
    EXPECT_THAT(m.TakeLog(), ElementsAre("WithdrawArrivalRequest"));
  }
  m.Reply(absl::OkStatus(), v1::WithdrawArrivalResponse());
  m.Advance(absl::Hours(1));
  EXPECT_THAT(m.TakeLog(), IsEmpty());
}

// A withdrawal that is retried under a higher attempt number would withdraw the new call.
TEST(MemberCoreNodeTest, ARetryEndsTheWithdrawal) {
  NodeMachine m;
  m.Barrier(2);
  m.Cancel(2);
  m.TakeLog();
  m.Barrier(3);
  EXPECT_THAT(m.TakeLog(), ElementsAre("cancel", "meet"));
  m.Advance(absl::Seconds(30));
  EXPECT_THAT(m.TakeLog(), IsEmpty());
  m.EndRoundAlone();
  m.TakeLog();
  m.Cancel(3);
  EXPECT_THAT(m.TakeLog(), ElementsAre("cancel", "WithdrawArrivalRequest"))
      << "what was taken in the first call may still be on its way";
}

TEST(MemberCoreNodeTest, AnAnswerToALaterSendLeavesNothingToWithdraw) {
  NodeMachine m;
  m.Barrier(2);
  m.EndRound(FanInEnd::kDeadline);
  m.TakeLog();
  m.Reply(absl::DeadlineExceededError("rank 2 is missing"));
  EXPECT_THAT(m.TakeLog(), IsEmpty());
  ASSERT_NE(m.EndOf(2), nullptr);
}

TEST(MemberCoreNodeTest, ARefusalWithoutARecordLeavesAnArrivalToWithdraw) {
  NodeMachine m;
  m.Barrier(2);
  m.EndRound(FanInEnd::kCallAlone);
  m.TakeLog();
  m.Reply(absl::ResourceExhaustedError("--max-held-bytes"));
  EXPECT_THAT(m.TakeLog(), ElementsAre("WithdrawArrivalRequest"));
}

// group.h promises this for RESOURCE_EXHAUSTED: call again with less, or call something else.
TEST(MemberCoreNodeTest, AfterARefusalOtherCallsWaitForTheWithdrawal) {
  for (const CollectiveCall& next : {AllGatherOf(5), CollectiveCall()}) {
    NodeMachine m;
    m.Collective(2, AllGatherOf(10));
    m.EndRound(FanInEnd::kCallAlone);
    m.Reply(absl::ResourceExhaustedError("--max-held-bytes"));
    m.TakeLog();
    m.Collective(3, next);
    EXPECT_THAT(m.TakeLog(), IsEmpty()) << "a late part of the batch would count for it";
    m.Reply(absl::OkStatus(), v1::WithdrawArrivalResponse());
    EXPECT_THAT(m.TakeLog(), ElementsAre("meet"));
    EXPECT_EQ(m.round().contribution.sequence, 0u);
    EXPECT_EQ(m.round().contribution.payload, next.payload);
    m.EndRound(FanInEnd::kAnswered);
    EXPECT_TRUE(m.Succeeded(3));
  }
}

TEST(MemberCoreNodeTest, ARefusalIsTheSameWithoutFanIn) {
  NodeMachine m(/*node_fanin=*/false);
  m.Collective(2, AllGatherOf(10));
  m.Cancel(2);
  m.Collective(3, AllGatherOf(10));
  m.TakeLog();
  m.Reply(absl::ResourceExhaustedError("--max-held-bytes"));
  m.Barrier(4);
  EXPECT_THAT(m.TakeLog(), ElementsAre("WithdrawArrivalRequest")) << "of what was cancelled";
  m.Reply(absl::OkStatus(), v1::WithdrawArrivalResponse());
  EXPECT_THAT(m.TakeLog(), ElementsAre("BarrierRequest"));
}

TEST(MemberCoreNodeTest, ACallThatWaitsForAWithdrawalMayBeRetried) {
  NodeMachine m;
  m.Collective(2, AllGatherOf(10));
  m.EndRound(FanInEnd::kCallAlone);
  m.Reply(absl::ResourceExhaustedError("--max-held-bytes"));
  m.TakeLog();
  m.Barrier(3);
  m.Cancel(3);
  EXPECT_TRUE(absl::IsCancelled(m.EndOf(3)->status()));
  m.Barrier(4);
  m.Advance(absl::Minutes(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(m.EndOf(4)->status()));
  m.Barrier(5);
  EXPECT_THAT(m.TakeLog(), IsEmpty());
  m.EndStream();
  m.Step();
  m.Accept(2);
  EXPECT_THAT(m.TakeLog(), ElementsAre("cancel", "attach", "meet"))
      << "what was sent in a session that has ended does not count";
}

// Before it was killed, that daemon may have completed the number for other members. It cannot have
// completed a malformed call.
TEST(MemberCoreNodeTest, AnArrivalThatAnotherDaemonMayHaveIsFixed) {
  for (const absl::Status& refusal : {absl::ResourceExhaustedError("--max-held-bytes"),
                                      absl::InvalidArgumentError("the label is too long")}) {
    NodeMachine m;
    m.Collective(2, AllGatherOf(10));
    m.EndRound(FanInEnd::kCallAlone);
    m.EndStream();
    m.Step();
    m.Accept(2, /*node_collectives=*/true, /*daemon_instance=*/2);
    m.Reply(refusal);
    m.Barrier(3);
    const bool fixed = m.EndOf(3) != nullptr && absl::IsFailedPrecondition(m.EndOf(3)->status());
    EXPECT_EQ(fixed, absl::IsResourceExhausted(refusal)) << refusal;
  }
}

TEST(MemberCoreNodeTest, AnArrivalThatWasNotTakenIsNotWithdrawn) {
  NodeMachine m;
  m.Barrier(2);
  m.EndRoundAlone();
  m.TakeLog();
  m.Cancel(2);
  EXPECT_THAT(m.TakeLog(), ElementsAre("cancel"));
}

TEST(MemberCoreNodeTest, ArrivalsInOthersBatchesEndWithTheSession) {
  NodeMachine m;
  m.Barrier(2);
  m.Cancel(2);
  m.TakeLog();
  m.EndStream();
  m.Step();
  m.Accept(2);
  m.Advance(absl::Minutes(1));
  EXPECT_THAT(m.TakeLog(), ElementsAre("cancel", "attach"));
}

TEST(MemberCoreNodeTest, LeavesAfterItsWithdrawalsHaveEnded) {
  NodeMachine m;
  m.Barrier(2);
  m.Cancel(2);
  m.TakeLog();
  m.Leave(3);
  EXPECT_THAT(m.TakeLog(), IsEmpty());
  m.Reply(absl::OkStatus(), v1::WithdrawArrivalResponse());
  EXPECT_THAT(m.TakeLog(), ElementsAre("LeaveRequest"));
}

// The member's next claim must not be contradicted by an answer from a slot.
TEST(MemberCoreNodeTest, ArrivalsAreRevokedBeforeItAttachesAgainOrRejoins) {
  NodeMachine attaches;
  attaches.Barrier(2);
  attaches.TakeLog();
  attaches.EndStream();
  attaches.Step();
  EXPECT_THAT(attaches.TakeLog(), ElementsAre("leave", "attach"));
  attaches.EndRound(FanInEnd::kAnswered);
  EXPECT_EQ(attaches.EndOf(2), nullptr);
  attaches.Accept(2);
  EXPECT_THAT(attaches.TakeLog(), ElementsAre("BarrierRequest"));

  NodeMachine rejoins;
  rejoins.Barrier(2);
  rejoins.TakeLog();
  rejoins.Rejoin(3);
  EXPECT_THAT(rejoins.TakeLog(), ElementsAre("leave", "BarrierRequest", "RejoinRequest"));
  rejoins.EndRound(FanInEnd::kAnswered);
  EXPECT_EQ(rejoins.EndOf(2), nullptr);
}

TEST(MemberCoreNodeTest, SendsPartsUnderTheirOwnSessions) {
  NodeMachine m;
  m.Collective(2, AllGatherOf(3));
  m.SendForNode(3);
  const auto& request = std::get<v1::NodeCollectiveRequest>(m.sent().request);
  EXPECT_EQ(request.context().call().session().counter(), 1u);
  ASSERT_EQ(request.parts_size(), 2);
  EXPECT_EQ(request.parts(0).attempt(), m.round().contribution.attempt);
  EXPECT_EQ(request.parts(0).wait_timeout().seconds(), 60);
  EXPECT_EQ(request.parts(1).session().counter(), 99u);
  EXPECT_EQ(request.parts(1).payload(), "xxx");
}

TEST(MemberCoreNodeTest, ABatchEndsWithItsPatienceAndIsNotRetried) {
  NodeMachine m;
  m.Barrier(2);
  m.SendForNode(3);
  m.TakeLog();
  m.Advance(absl::Milliseconds(149));
  EXPECT_EQ(m.EndOf(3), nullptr);
  m.Advance(absl::Milliseconds(1));
  ASSERT_NE(m.EndOf(3), nullptr);
  EXPECT_FALSE(DeliveryOf(*m.EndOf(3)));
  EXPECT_THAT(m.TakeLog(), ElementsAre("cancel"));

  NodeMachine failed;
  failed.Barrier(2);
  failed.SendForNode(3);
  failed.TakeLog();
  failed.Reply(absl::UnavailableError("connection reset"));
  ASSERT_NE(failed.EndOf(3), nullptr);
  EXPECT_THAT(failed.TakeLog(), IsEmpty());
}

// A member may not pass on an answer that it does not accept itself.
TEST(MemberCoreNodeTest, ABatchEndsWithItsRound) {
  NodeMachine m;
  m.Barrier(2);
  m.SendForNode(3);
  m.Cancel(2);
  ASSERT_NE(m.EndOf(3), nullptr);
  EXPECT_FALSE(DeliveryOf(*m.EndOf(3)));
  m.SendForNode(4);
  EXPECT_TRUE(absl::IsCancelled(m.EndOf(4)->status()));
}

TEST(MemberCoreNodeTest, AnErrorOfABatchBreaksNothing) {
  NodeMachine m;
  m.Barrier(2);
  m.SendForNode(3);
  m.Reply(absl::AbortedError("this process was lost"));
  EXPECT_EQ(m.EndOf(2), nullptr);
  m.EndRound(FanInEnd::kCallAlone);
  m.Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(m.Succeeded(2));
}

TEST(MemberCoreNodeTest, OnlyTheRootOfAGatherGetsPayloads) {
  v1::NodeCollectiveResponse answer;
  answer.add_payloads("zero");
  answer.add_payloads("one");
  answer.add_payloads("two");
  for (const int root : {0, 1}) {
    NodeMachine m;
    CollectiveCall call;
    call.kind = CollectiveKind::kGather;
    call.root = root;
    m.Collective(2, call, "backwards", {2, 1, 0});
    m.EndRound(FanInEnd::kAnswered, answer.SerializeAsString());
    ASSERT_TRUE(m.Succeeded(2));
    EXPECT_EQ(PayloadsOf(**m.EndOf(2)).size(), root == 1 ? 3 : 0);
  }
}

}  // namespace
}  // namespace muster::internal
