// Tests which rank is blamed for the end of a communicator, and what the peers are notified of. The
// test plays the peers.

#include "client/gloo/communicator_teardown.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/fakes/star_control_plane.h"

namespace muster::internal {
namespace {

using ::muster::testing::StarControlPlane;
using ::muster::testing::WorldOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StrEq;

constexpr char kBroke[] = "connection reset by peer";

// A channel to some of the peers. Logs the notices that it sends, with other events, in `events`.
class FakeChannel final : public EndNoticeChannel {
 public:
  FakeChannel(std::vector<int> reached, std::vector<std::string>* events)
      : reached_(std::move(reached)), events_(events) {}

  void End(int peer, std::optional<EndNotice> notice = std::nullopt, std::string seen = "") {
    ended_[peer] = {peer, std::move(notice), std::move(seen)};
  }
  // Ends the peer when EndedPeers() is called for the `look`th time.
  void EndAtLook(int look, int peer, std::optional<EndNotice> notice = std::nullopt) {
    ends_at_look_[look] = {peer, std::move(notice), ""};
  }
  int looks() const { return looks_; }

  std::vector<EndedPeer> EndedPeers() override {
    const auto due = ends_at_look_.find(++looks_);
    if (due != ends_at_look_.end()) ended_[due->second.rank] = due->second;
    std::vector<EndedPeer> ended;
    for (const auto& [rank, peer] : ended_) ended.push_back(peer);
    return ended;
  }
  std::vector<int> Notify(const EndNotice& notice, const std::vector<int>& ranks) override {
    std::vector<int> notified, unnotified;
    for (const int rank : ranks) {
      (std::count(reached_.begin(), reached_.end(), rank) > 0 ? notified : unnotified)
          .push_back(rank);
    }
    events_->push_back(absl::StrCat("to ", absl::StrJoin(notified, ","), ": rank ", notice.rank,
                                    notice.failed ? " failed: " : " ended: ", notice.reason));
    return unnotified;
  }

 private:
  const std::vector<int> reached_;
  std::vector<std::string>* const events_;
  std::map<int, EndedPeer> ended_;
  std::map<int, EndedPeer> ends_at_look_;
  int looks_ = 0;
};

// Rank 0 of four, each on its own node. Their job knows of no loss.
class CommunicatorTeardownTest : public ::testing::Test {
 protected:
  CommunicatorTeardownTest() { teardown_.Add(&channel_); }

  static CallFailure BrokenConnection() { return CallFailure{kBroke, {}, -1}; }

  // Returns the error of a barrier that fails in this way.
  absl::Status Fail(const CallFailure& failure) {
    absl::Status status = teardown_.Fail(barrier_, Deadline(absl::Seconds(60), nullptr), failure);
    events_.push_back("its messages are dropped");
    teardown_.Close();
    return status;
  }
  std::string ErrorOf(const CallFailure& failure) { return std::string(Fail(failure).message()); }

  const Group world_ =
      WorldOf(std::make_shared<StarControlPlane>(std::vector<int>{0, 1, 2, 3}, 0, nullptr));
  const Operation barrier_;
  std::vector<std::string> events_;
  FakeChannel channel_{{1, 2, 3}, &events_};
  Interrupter interrupter_;
  CommunicatorTeardown teardown_{world_, &interrupter_, [this] { events_.push_back("closed"); }};
};

TEST_F(CommunicatorTeardownTest, ReportsAndForwardsTheNoticeOfAPeer) {
  channel_.End(2, EndNotice{1, true, "it was cancelled"});
  EXPECT_THAT(ErrorOf(BrokenConnection()),
              StrEq("Barrier, collective 0: rank 1 (node 'node-1', pid 1001) is no longer there: "
                    "it was cancelled"));
  EXPECT_THAT(events_, ElementsAre("to 1,2,3: rank 1 failed: it was cancelled",
                                   "its messages are dropped", "closed"));
}

TEST_F(CommunicatorTeardownTest, PrefersAFailedPeerWithANoticeToASilentOne) {
  channel_.End(1);
  channel_.End(3, EndNotice{3, true, "its disk is full"});
  EXPECT_THAT(ErrorOf(BrokenConnection()), HasSubstr("its disk is full"));
}

TEST_F(CommunicatorTeardownTest, PrefersASilentPeerToOneThatEndedNormally) {
  channel_.End(1, EndNotice{1, false, "it destroyed its communicator"});
  channel_.End(3);
  EXPECT_THAT(ErrorOf(BrokenConnection()),
              HasSubstr("the connection to rank 3 (node 'node-3', pid 1003) broke: "));
}

TEST_F(CommunicatorTeardownTest, BlamesAPeerThatEndedNormallyIfNoPeerFailed) {
  channel_.End(1, EndNotice{1, false, "it destroyed its communicator"});
  EXPECT_THAT(ErrorOf(BrokenConnection()), HasSubstr("it destroyed its communicator"));
  EXPECT_THAT(events_, ElementsAre("to 1,2,3: rank 1 failed: it destroyed its communicator",
                                   "its messages are dropped", "closed"))
      << "this rank failed because of it";
}

// Rank 1 was killed. Rank 2 has ended because of that, but its notice did not get through; rank 3
// tells.
TEST_F(CommunicatorTeardownTest, OfTwoSilentPeersTheNoticeOfAThirdTellsWhichToBlame) {
  channel_.End(1);
  channel_.End(2);
  channel_.EndAtLook(5, 3, EndNotice{3, true, "the connection to rank 1 broke"});
  EXPECT_THAT(ErrorOf(BrokenConnection()), HasSubstr("the connection to rank 1 broke"));
}

TEST_F(CommunicatorTeardownTest, ASilentPeerMayBeTheFirstOfTwoToBeSeen) {
  channel_.End(2);
  channel_.EndAtLook(4, 1);
  channel_.EndAtLook(6, 3, EndNotice{3, true, "the connection to rank 1 broke"});
  EXPECT_THAT(ErrorOf(BrokenConnection()), HasSubstr("the connection to rank 1 broke"));
}

TEST_F(CommunicatorTeardownTest, WaitsForNoNoticeIfAllPeersHaveEnded) {
  for (int peer : {1, 2, 3}) channel_.End(peer);
  EXPECT_THAT(ErrorOf(BrokenConnection()),
              HasSubstr("the connection to rank 1 (node 'node-1', pid 1001) broke: "));
  EXPECT_EQ(channel_.looks(), 2) << "one for the end, one for a notice";
}

TEST_F(CommunicatorTeardownTest, SaysWhatWasSeenOfThePeerThatItBlames) {
  channel_.End(2, std::nullopt, "connection closed by rank 2");
  EXPECT_THAT(ErrorOf(BrokenConnection()),
              HasSubstr("the connection to rank 2 (node 'node-2', pid 1002) broke: "
                        "connection closed by rank 2; "))
      << "the operation saw the end of another connection";
}

TEST_F(CommunicatorTeardownTest, BlamesThePeerThatTheOperationSawEndIfNoChannelReportsOne) {
  EXPECT_THAT(ErrorOf(CallFailure{"its communicator has ended", {}, /*ended=*/2}),
              HasSubstr("the connection to rank 2 (node 'node-2', pid 1002) broke: "));
}

TEST_F(CommunicatorTeardownTest, ReadsNoticesFromAllChannels) {
  FakeChannel memory({2}, &events_);
  teardown_.Add(&memory);
  channel_.End(2);
  memory.End(2, EndNotice{2, true, "its disk is full"});
  EXPECT_THAT(ErrorOf(BrokenConnection()), HasSubstr("its disk is full"));
}

TEST_F(CommunicatorTeardownTest, NotifiesEachPeerOnTheLastChannelThatReachesIt) {
  FakeChannel memory({1, 3}, &events_);
  teardown_.Add(&memory);
  teardown_.Finish();
  EXPECT_THAT(events_, ElementsAre("to 1,3: rank 0 ended: it destroyed its communicator",
                                   "to 2: rank 0 ended: it destroyed its communicator", "closed"));
}

TEST_F(CommunicatorTeardownTest, SendsNoNoticeIfAMemberWasLost) {
  const absl::Status loss = absl::AbortedError("rank 1 was lost");
  interrupter_.Raise(loss);
  EXPECT_EQ(Fail(CallFailure{}), loss);
  EXPECT_THAT(events_, ElementsAre("its messages are dropped", "closed"));
}

TEST_F(CommunicatorTeardownTest, ACancelledOperationNamesTheAwaitedRanks) {
  interrupter_.Raise(absl::CancelledError(""));
  const absl::Status status = Fail(CallFailure{"", {3}, -1});
  EXPECT_EQ(status, absl::CancelledError("Barrier, collective 0 was cancelled while waiting for "
                                         "rank 3 (node 'node-3', pid 1003)"));
  EXPECT_THAT(events_, ElementsAre("to 1,2,3: rank 0 failed: " + status.ToString(),
                                   "its messages are dropped", "closed"));
}

TEST_F(CommunicatorTeardownTest, CheckPeersStopsAnOperationIfAPeerHasFailed) {
  channel_.End(1, EndNotice{1, false, "it destroyed its communicator"});
  teardown_.CheckPeers();
  EXPECT_FALSE(interrupter_.raised()) << "the others may go on without it";
  channel_.End(2);
  teardown_.CheckPeers();
  EXPECT_TRUE(interrupter_.raised());
}

TEST_F(CommunicatorTeardownTest, FinishNotifiesThePeersOnlyOnce) {
  teardown_.Finish();
  EXPECT_THAT(events_,
              ElementsAre("to 1,2,3: rank 0 ended: it destroyed its communicator", "closed"));
  events_.clear();
  teardown_.Finish();
  EXPECT_THAT(events_, IsEmpty());
}

}  // namespace
}  // namespace muster::internal
