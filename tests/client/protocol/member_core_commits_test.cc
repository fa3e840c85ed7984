// Tests of one member's decisions about collectives that complete on the node, with a stepped
// clock: R16 to R20 of docs/node-fan-in.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/src/protocol/member_core.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr EpochId kEpoch{7, 8};

// Rank 1 of 2, with rank 0 on the same node, and a clock. The test plays the network and the node
// by hand.
class CommittingMachine {
 public:
  explicit CommittingMachine(bool stop_asked = false) : member_(Options()) {
    Take(member_.Start(now_));
    Accept(1);
    Take(member_.Join(now_, 1, JobOptions(), Deadline(now_, absl::Hours(1))));
    v1::JoinResponse place;
    place.mutable_epoch()->set_number(kEpoch.number);
    place.mutable_epoch()->set_nonce(kEpoch.nonce);
    place.set_rank(1);
    place.set_stop_asked(stop_asked);
    for (int i = 0; i < 2; ++i) place.add_roster()->mutable_member()->set_node_id("a");
    Reply(absl::OkStatus(), place);
    TakeLog();
  }

  void Accept(uint64_t session, bool node_commits = true) {
    v1::AttachResponse response;
    v1::Attached* const attached = response.mutable_attached();
    attached->mutable_member_grace()->set_seconds(2);
    attached->mutable_session()->set_counter(session);
    attached->mutable_session()->set_daemon_instance(1);
    attached->mutable_limits()->set_max_name_bytes(64);
    attached->mutable_limits()->set_max_payload_bytes(100);
    attached->set_node_collectives(true);
    attached->set_node_commits(node_commits);
    Take(member_.OnStreamResponse(now_, stream_.attempt, response));
  }
  void EndStream() {
    Take(member_.OnStreamEnd(now_, stream_.attempt, absl::UnavailableError("connection reset")));
  }
  void Advance(absl::Duration duration) {
    const SteadyTime end = After(now_, duration);
    for (SteadyTime next; (next = member_.NextDeadline()) <= end;) {
      now_ = std::max(now_, next);
      Take(member_.Tick(now_));
      ASSERT_GT(member_.NextDeadline(), now_) << "a tick does what is due";
    }
    now_ = end;
  }

  void Barrier(CallId id, const std::string& group = "", const std::vector<int>& ranks = {}) {
    Take(member_.Collective(now_, id, {kEpoch, group, ranks}, CollectiveCall(),
                            Deadline(now_, absl::Minutes(1))));
  }
  // Makes a barrier that the coordinator completes, so that the next one may complete on the node.
  void BarrierAtCoordinator(CallId id, const std::string& group = "",
                            const std::vector<int>& ranks = {}) {
    Barrier(id, group, ranks);
    EndRound(FanInEnd::kAnswered);
    EXPECT_TRUE(Succeeded(id));
    TakeLog();
  }
  void Cancel(CallId id) { Take(member_.Cancel(now_, id)); }
  void Rejoin(CallId id) { Take(member_.Rejoin(now_, id, kEpoch, Deadline(now_, absl::Hours(1)))); }
  void Leave(CallId id) { Take(member_.Leave(now_, id, kEpoch, Deadline(now_, absl::Hours(1)))); }
  void RequestStop(CallId id) {
    Take(member_.RequestStop(now_, id, kEpoch, Deadline(now_, absl::Hours(1))));
  }
  void Hold(const GroupId& group) { member_.Hold(group); }
  void Drop(const GroupId& group) { Take(member_.Drop(now_, group)); }

  // Ends the latest round.
  void EndRound(FanInEnd::Kind kind, bool on_node = false, const std::string& answer = "") {
    Take(member_.OnFanInEnd(now_, round().contribution.attempt,
                            {kind, /*unsent=*/false, /*was_taken=*/true, answer, on_node}));
  }
  // Returns the parts of both ranks. Rank 0 has arrived 3 ms before this one.
  std::vector<TakenPart> Parts() const {
    Contribution other = round().contribution;
    other.session_counter = 99;
    other.posted_at -= 3'000'000;
    return {{1, {}, round().contribution}, {0, {}, other}};
  }
  std::optional<Delivery> CompleteOnNode(const std::vector<TakenPart>& parts) {
    return member_.CompleteOnNode(round().contribution.attempt, parts);
  }
  // Makes a barrier that this member completes for both ranks.
  void CommitBarrier(CallId id) {
    Barrier(id);
    const std::optional<Delivery> delivery = CompleteOnNode(Parts());
    ASSERT_TRUE(delivery && delivery->on_node);
    EndRound(FanInEnd::kAnswered, /*on_node=*/true, delivery->answer);
    EXPECT_TRUE(Succeeded(id));
  }
  // Answers the latest call that was sent.
  void Reply(const absl::Status& status, Response response = {}) {
    Take(member_.OnReply(now_, sends_.back().attempt, status, std::move(response)));
  }

  const StartFanIn& round() const { return rounds_.back(); }
  bool MayCommit() const { return round().contribution.may_commit != 0; }
  const OpenStream& stream() const { return stream_; }
  const SendCall& sent() const { return sends_.back(); }
  const v1::ReportCommitsRequest& report() const {
    return std::get<v1::ReportCommitsRequest>(sent().request);
  }
  bool StopRequested() const { return member_.StopRequested(kEpoch); }
  // Returns what has happened since the last call: "meet", "leave", "attach", "cancel", or the
  // kind of a call that was sent.
  std::vector<std::string> TakeLog() { return std::exchange(log_, {}); }
  // Returns nullptr while the call goes on.
  const absl::StatusOr<Response>* EndOf(CallId id) const {
    const auto end = ends_.find(id);
    return end == ends_.end() ? nullptr : &end->second;
  }
  bool Succeeded(CallId id) const { return EndOf(id) != nullptr && EndOf(id)->ok(); }

 private:
  static MemberOptions Options() {
    MemberOptions options;
    options.coordinator = "host:7370";
    options.job_id = "run";
    options.coordinator_timeout = absl::Minutes(10);
    options.node_commits = true;
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
    stream_ = open;
    log_.push_back("attach");
  }
  void Take(const CancelSend&) { log_.push_back("cancel"); }
  void Take(const EnterNode&) {}
  void Take(const StartFanIn& meet) {
    rounds_.push_back(meet);
    log_.push_back("meet");
  }
  void Take(const RetireFanInGroup&) {}
  void Take(const LeaveFanIn&) { log_.push_back("leave"); }
  void Take(const SkipFanIn&) {}
  void Take(const WriteLog&) {}
  void Take(Effects effects) {
    for (const Output& output : effects.outputs) {
      std::visit([this](const auto& what) { Take(what); }, output);
    }
    for (Completion& completion : effects.completions) {
      EXPECT_TRUE(ends_.emplace(completion.call, std::move(completion.reply)).second);
    }
  }

  SteadyTime now_ = SteadyTime(std::chrono::hours(1));
  MemberCore member_;
  OpenStream stream_;
  std::vector<SendCall> sends_;
  std::vector<StartFanIn> rounds_;
  std::vector<std::string> log_;
  std::map<CallId, absl::StatusOr<Response>> ends_;
};

TEST(MemberCoreCommitsTest, TheFirstCollectiveOfASessionGoesThroughTheCoordinator) {
  CommittingMachine m;
  m.Barrier(2);
  EXPECT_FALSE(m.MayCommit());
  EXPECT_FALSE(m.CompleteOnNode(m.Parts()));
  m.EndRound(FanInEnd::kAnswered);
  m.Barrier(3);
  EXPECT_TRUE(m.MayCommit());
  m.EndRound(FanInEnd::kAnswered);
  m.EndStream();
  m.Advance(absl::Seconds(2));
  m.Accept(2);
  m.Barrier(4);
  EXPECT_FALSE(m.MayCommit());
}

TEST(MemberCoreCommitsTest, NothingIsCommittedWithoutTheCoordinatorsOffer) {
  CommittingMachine m;
  EXPECT_TRUE(m.stream().request.commits_on_node());
  m.EndStream();
  m.Advance(absl::Seconds(2));
  m.Accept(2, /*node_commits=*/false);
  m.BarrierAtCoordinator(2);
  m.Barrier(3);
  EXPECT_FALSE(m.MayCommit());
}

TEST(MemberCoreCommitsTest, ASenderCompletesACollectiveAndReportsItLater) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  m.CommitBarrier(3);
  EXPECT_THAT(m.TakeLog(), ElementsAre("meet"));
  m.Advance(absl::Milliseconds(20));
  ASSERT_THAT(m.TakeLog(), ElementsAre("ReportCommitsRequest"));
  ASSERT_EQ(m.report().groups_size(), 1);
  ASSERT_EQ(m.report().groups(0).commits_size(), 1);
  const v1::NodeCommit& commit = m.report().groups(0).commits(0);
  EXPECT_EQ(commit.sequence(), 1u);
  EXPECT_EQ(commit.kind(), v1::COLLECTIVE_KIND_BARRIER);
  ASSERT_EQ(commit.delays_size(), 2);
  EXPECT_EQ(DurationOf(commit.delays(0)), absl::ZeroDuration());
  EXPECT_EQ(DurationOf(commit.delays(1)), absl::Milliseconds(3));
}

TEST(MemberCoreCommitsTest, ManyCommitsAreReportedAtOnce) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  for (CallId id = 3; id < 3 + 63; ++id) m.CommitBarrier(id);
  EXPECT_THAT(m.TakeLog(), ::testing::Each("meet"));
  m.CommitBarrier(70);
  EXPECT_THAT(m.TakeLog(), ElementsAre("meet", "ReportCommitsRequest"));
  EXPECT_EQ(m.report().groups(0).commits_size(), 64);
}

TEST(MemberCoreCommitsTest, ReceiversReportNothing) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  m.Barrier(3);
  m.EndRound(FanInEnd::kAnswered, /*on_node=*/true);
  EXPECT_TRUE(m.Succeeded(3));
  m.Advance(absl::Minutes(1));
  EXPECT_THAT(m.TakeLog(), ElementsAre("meet"));
}

TEST(MemberCoreCommitsTest, ASenderWhoseCommitFailsCallsAndReportsNothing) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  m.Barrier(3);
  ASSERT_TRUE(m.CompleteOnNode(m.Parts()));
  m.EndRound(FanInEnd::kCallAlone);
  EXPECT_THAT(m.TakeLog(), ElementsAre("meet", "BarrierRequest"));
  m.Reply(absl::OkStatus(), v1::BarrierResponse());
  m.Advance(absl::Minutes(1));
  EXPECT_THAT(m.TakeLog(), IsEmpty());
}

TEST(MemberCoreCommitsTest, PartsThatMayNotBeCommittedGoToTheCoordinator) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  m.Barrier(3);
  std::vector<TakenPart> parts = m.Parts();
  parts[1].contribution.may_commit = 0;
  EXPECT_FALSE(m.CompleteOnNode(parts));
  parts = m.Parts();
  parts.pop_back();
  EXPECT_FALSE(m.CompleteOnNode(parts));
  parts = m.Parts();
  parts[1].contribution.payload.assign(101, 'x');
  EXPECT_FALSE(m.CompleteOnNode(parts)) << "more than the coordinator takes";
  EXPECT_TRUE(m.CompleteOnNode(m.Parts()));
}

TEST(MemberCoreCommitsTest, ACancelledCallEndsWithItsRound) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  m.Barrier(3);
  m.Cancel(3);
  EXPECT_THAT(m.TakeLog(), ElementsAre("meet", "leave"));
  EXPECT_EQ(m.EndOf(3), nullptr);
  m.EndRound(FanInEnd::kRevoked);
  ASSERT_NE(m.EndOf(3), nullptr);
  EXPECT_TRUE(absl::IsCancelled(m.EndOf(3)->status()));
  EXPECT_THAT(m.TakeLog(), ElementsAre("WithdrawArrivalRequest"));
}

TEST(MemberCoreCommitsTest, ACancelledCallSucceedsIfItsArrivalWasCommitted) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  m.Barrier(3);
  m.Cancel(3);
  m.EndRound(FanInEnd::kAnswered, /*on_node=*/true);
  EXPECT_TRUE(m.Succeeded(3));
  m.Barrier(4);
  EXPECT_EQ(m.round().contribution.sequence, 2u);
}

TEST(MemberCoreCommitsTest, NoClaimIsMadeBeforeTheRoundHasEnded) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  m.Barrier(3);
  m.EndStream();
  m.Advance(absl::Seconds(5));
  EXPECT_THAT(m.TakeLog(), ElementsAre("meet", "leave"));
  m.EndRound(FanInEnd::kAnswered, /*on_node=*/true);
  EXPECT_TRUE(m.Succeeded(3));
  ASSERT_THAT(m.TakeLog(), ElementsAre("attach"));
  EXPECT_EQ(m.stream().request.claim().groups(0).next_sequence(), 2u);
}

TEST(MemberCoreCommitsTest, TheCoordinatorsAnswerIsDroppedAfterTheEndOfTheSession) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  m.Barrier(3);
  m.EndStream();
  m.EndRound(FanInEnd::kAnswered, /*on_node=*/false);
  EXPECT_EQ(m.EndOf(3), nullptr);
  m.Advance(absl::Seconds(2));
  EXPECT_EQ(m.stream().request.claim().groups(0).next_sequence(), 1u);
  m.TakeLog();
  m.Accept(2);
  EXPECT_THAT(m.TakeLog(), ElementsAre("BarrierRequest")) << "it asks for the answer";
}

TEST(MemberCoreCommitsTest, RejoinWaitsForTheEndOfTheRound) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  m.Barrier(3);
  m.Rejoin(4);
  EXPECT_THAT(m.TakeLog(), ElementsAre("meet", "leave"));
  m.EndRound(FanInEnd::kAnswered, /*on_node=*/true);
  EXPECT_THAT(m.TakeLog(), ElementsAre("RejoinRequest"));
  EXPECT_EQ(std::get<v1::RejoinRequest>(m.sent().request).claim().groups(0).next_sequence(), 2u);
}

TEST(MemberCoreCommitsTest, LeaveWaitsForTheReport) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  m.CommitBarrier(3);
  m.TakeLog();
  m.Leave(4);
  EXPECT_THAT(m.TakeLog(), ElementsAre("ReportCommitsRequest"));
  m.Reply(absl::UnavailableError("connection reset"));
  m.Advance(absl::Seconds(10));
  EXPECT_THAT(m.TakeLog(), ElementsAre("ReportCommitsRequest")) << "until it is acknowledged";
  m.Reply(absl::OkStatus(), v1::ReportCommitsResponse());
  EXPECT_THAT(m.TakeLog(), ElementsAre("LeaveRequest"));
}

TEST(MemberCoreCommitsTest, LeaveWaitsForTheReportThatFollows) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  m.CommitBarrier(3);
  m.Advance(absl::Milliseconds(20));
  m.CommitBarrier(4);
  m.TakeLog();
  m.Leave(5);
  EXPECT_THAT(m.TakeLog(), IsEmpty());
  m.Reply(absl::OkStatus(), v1::ReportCommitsResponse());
  EXPECT_THAT(m.TakeLog(), ElementsAre("ReportCommitsRequest"));
  m.Reply(absl::OkStatus(), v1::ReportCommitsResponse());
  EXPECT_THAT(m.TakeLog(), ElementsAre("LeaveRequest"));
}

TEST(MemberCoreCommitsTest, AClaimTellsOfUnreportedCommits) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  m.CommitBarrier(3);
  m.EndStream();
  m.Advance(absl::Seconds(2));
  EXPECT_EQ(m.stream().request.claim().groups(0).next_sequence(), 2u);
  m.Accept(2);
  m.TakeLog();
  m.Advance(absl::Minutes(1));
  EXPECT_THAT(m.TakeLog(), IsEmpty());
}

TEST(MemberCoreCommitsTest, AStopIsPostedAndAgreedOnTheNode) {
  CommittingMachine m;
  m.BarrierAtCoordinator(2);
  m.Barrier(3);
  EXPECT_EQ(m.round().contribution.stop_asked, 0);
  std::vector<TakenPart> parts = m.Parts();
  parts[1].contribution.stop_asked = 1;
  const std::optional<Delivery> delivery = m.CompleteOnNode(parts);
  ASSERT_TRUE(delivery);
  m.EndRound(FanInEnd::kAnswered, /*on_node=*/true, delivery->answer);
  EXPECT_TRUE(m.StopRequested());

  CommittingMachine asks;
  asks.BarrierAtCoordinator(2);
  asks.RequestStop(3);
  asks.Barrier(4);
  EXPECT_EQ(asks.round().contribution.stop_asked, 1);

  CommittingMachine joins(/*stop_asked=*/true);
  joins.Barrier(2);
  EXPECT_EQ(joins.round().contribution.stop_asked, 1);
}

TEST(MemberCoreCommitsTest, AfterAReleaseTheCoordinatorHearsOfTheNextCollective) {
  const GroupId group{kEpoch, "pair", {0, 1}};
  CommittingMachine m;
  m.Hold(group);
  m.BarrierAtCoordinator(2, "pair", {0, 1});
  m.Barrier(3, "pair", {0, 1});
  EXPECT_TRUE(m.MayCommit());
  m.EndRound(FanInEnd::kAnswered, /*on_node=*/true);
  m.Drop(group);
  m.Hold(group);
  m.Barrier(4, "pair", {0, 1});
  EXPECT_FALSE(m.MayCommit());
}

}  // namespace
}  // namespace muster::internal
