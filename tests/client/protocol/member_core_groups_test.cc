// Tests of one member's decisions about groups that its program has released, with a stepped clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/member_core.h"
#include "client/src/protocol/messages/messages.h"
#include "common/names/group_digest.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr EpochId kEpoch{7, 8};

std::string DigestOf(const std::string& name) {
  return GroupDigest(name, std::vector<uint32_t>{0, 1});
}

// Rank 1 of 2, with a clock. The test plays the network by hand.
class GroupsTest : public ::testing::Test {
 protected:
  GroupsTest() : member_(OptionsOf()) {
    Take(member_.Start(now_));
    Accept(1);
    Take(member_.Join(now_, 1, JobOptions(), Deadline(now_, absl::Hours(1))));
    v1::JoinResponse place;
    place.mutable_epoch()->set_number(kEpoch.number);
    place.mutable_epoch()->set_nonce(kEpoch.nonce);
    place.set_rank(1);
    for (const char* node : {"a", "b"}) place.add_roster()->mutable_member()->set_node_id(node);
    Reply(absl::OkStatus(), place);
  }

  static MemberOptions OptionsOf() {
    MemberOptions options;
    options.coordinator = "host:7370";
    options.job_id = "run";
    options.coordinator_timeout = absl::Minutes(10);
    options.random = [engine = std::mt19937_64(1)]() mutable { return engine(); };
    options.connected = [] { return true; };
    return options;
  }

  void Accept(uint64_t session) {
    v1::AttachResponse response;
    v1::Attached* const attached = response.mutable_attached();
    attached->mutable_session()->set_counter(session);
    attached->mutable_limits()->set_max_name_bytes(64);
    Take(member_.OnStreamResponse(now_, stream_, response));
  }
  void AttachAgain(uint64_t session) {
    Take(member_.OnStreamEnd(now_, stream_, absl::UnavailableError("connection reset")));
    now_ = member_.NextDeadline();
    Take(member_.Tick(now_));
    Accept(session);
  }
  void Advance(absl::Duration duration) {
    const SteadyTime end = After(now_, duration);
    while (member_.NextDeadline() <= end) {
      now_ = std::max(now_, member_.NextDeadline());
      Take(member_.Tick(now_));
    }
    now_ = end;
  }

  static GroupId GroupOf(const std::string& name) { return {kEpoch, name, {0, 1}}; }
  void Hold(const std::string& name) { member_.Hold(GroupOf(name)); }
  void Drop(const std::string& name) { Take(member_.Drop(now_, GroupOf(name))); }
  void Barrier(CallId id, const std::string& name) {
    Take(member_.Collective(now_, id, GroupOf(name), CollectiveCall(),
                            Deadline(now_, absl::Minutes(1))));
  }
  // Completes a barrier of the group.
  void Complete(CallId id, const std::string& name) {
    Hold(name);
    Barrier(id, name);
    Reply(absl::OkStatus(), v1::BarrierResponse());
    ASSERT_TRUE(Succeeded(id));
  }
  void Say(const std::vector<std::string>& closed, const std::vector<std::string>& settled) {
    v1::AttachResponse response;
    v1::GroupsClosed* const event = response.mutable_groups_closed();
    event->mutable_epoch()->set_number(kEpoch.number);
    event->mutable_epoch()->set_nonce(kEpoch.nonce);
    for (const std::string& name : closed) event->add_closed(DigestOf(name));
    for (const std::string& name : settled) event->add_settled(DigestOf(name));
    Take(member_.OnStreamResponse(now_, stream_, response));
  }
  // Answers the latest call that was sent.
  void Reply(const absl::Status& status, Response response = {}) {
    Take(member_.OnReply(now_, sends_.back().attempt, status, std::move(response)));
  }

  template <class R>
  const R& Sent() const {
    return std::get<R>(sends_.back().request);
  }
  template <class R>
  size_t CountOf() const {
    return std::count_if(sends_.begin(), sends_.end(), [](const SendCall& send) {
      return std::holds_alternative<R>(send.request);
    });
  }
  const v1::Claim& Claimed() const { return attach_.claim(); }
  bool Succeeded(CallId id) const { return ends_.count(id) > 0 && ends_.at(id).ok(); }

  void Take(Effects effects) {
    for (Output& output : effects.outputs) {
      if (auto* send = std::get_if<SendCall>(&output)) sends_.push_back(std::move(*send));
      if (auto* open = std::get_if<OpenStream>(&output)) {
        stream_ = open->attempt;
        attach_ = std::move(open->request);
      }
    }
    for (Completion& completion : effects.completions) {
      ends_.emplace(completion.call, std::move(completion.reply));
    }
  }

  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  MemberCore member_;
  uint64_t stream_ = 0;
  v1::AttachRequest attach_;
  std::vector<SendCall> sends_;
  std::map<CallId, absl::StatusOr<Response>> ends_;
};

TEST_F(GroupsTest, ReleasesAreReportedInOneBatch) {
  for (int step = 0; step < 7; ++step) {
    Complete(10 + step, absl::StrCat("step ", step));
    Drop(absl::StrCat("step ", step));
  }
  EXPECT_EQ(CountOf<v1::ReleaseGroupsRequest>(), 0u);
  Complete(17, "step 7");
  Drop("step 7");
  ASSERT_EQ(CountOf<v1::ReleaseGroupsRequest>(), 1u);
  const auto& news = Sent<v1::ReleaseGroupsRequest>();
  ASSERT_THAT(news.released(), SizeIs(8));
  EXPECT_EQ(news.released(0).digest(), DigestOf("step 0"));
  EXPECT_EQ(news.released(0).next_sequence(), 1u);
  EXPECT_EQ(news.epoch().number(), kEpoch.number);
}

TEST_F(GroupsTest, ASingleReleaseIsReportedAfterADelay) {
  Complete(2, "a");
  Drop("a");
  EXPECT_EQ(CountOf<v1::ReleaseGroupsRequest>(), 0u);
  Advance(absl::Seconds(1));
  EXPECT_EQ(CountOf<v1::ReleaseGroupsRequest>(), 1u);
  Reply(absl::OkStatus(), v1::ReleaseGroupsResponse());
  Advance(absl::Minutes(5));
  EXPECT_EQ(CountOf<v1::ReleaseGroupsRequest>(), 1u) << "and once";
}

TEST_F(GroupsTest, TheLastHandleCounts) {
  Complete(2, "a");
  Hold("a");
  Drop("a");
  Advance(absl::Seconds(1));
  EXPECT_EQ(CountOf<v1::ReleaseGroupsRequest>(), 0u);
  Drop("a");
  Advance(absl::Seconds(1));
  EXPECT_EQ(CountOf<v1::ReleaseGroupsRequest>(), 1u);
}

TEST_F(GroupsTest, ACallRetainsAReleasedGroupWithItsNumbers) {
  Complete(2, "a");
  Drop("a");
  Hold("a");
  Barrier(3, "a");
  EXPECT_EQ(Sent<v1::BarrierRequest>().context().sequence(), 1u);
  Advance(absl::Seconds(1));
  EXPECT_EQ(CountOf<v1::ReleaseGroupsRequest>(), 0u);
}

TEST_F(GroupsTest, AClosedGroupBeginsAnewWhenItIsSettled) {
  Complete(2, "a");
  Drop("a");
  Say({"a"}, {});
  Hold("a");
  Barrier(3, "a");
  ASSERT_EQ(CountOf<v1::ReleaseGroupsRequest>(), 1u) << "at once: a call waits";
  EXPECT_THAT(Sent<v1::ReleaseGroupsRequest>().closed(), ElementsAre(DigestOf("a")));
  Reply(absl::OkStatus(), v1::ReleaseGroupsResponse());
  EXPECT_EQ(CountOf<v1::BarrierRequest>(), 1u);
  Say({}, {"a"});
  ASSERT_EQ(CountOf<v1::BarrierRequest>(), 2u);
  EXPECT_EQ(Sent<v1::BarrierRequest>().context().sequence(), 0u);
  EXPECT_THAT(Sent<v1::BarrierRequest>().context().group().ranks(), ElementsAre(0, 1))
      << "the coordinator does not know the group";
  Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(Succeeded(3));
}

// The call and the coordinator's message have crossed.
TEST_F(GroupsTest, ACallInFlightIsSentAnewToo) {
  Complete(2, "a");
  Drop("a");
  Hold("a");
  Barrier(3, "a");
  const uint64_t crossed = sends_.back().attempt;
  Say({"a"}, {});
  Take(member_.OnReply(now_, crossed, absl::UnavailableError("closed"), v1::BarrierResponse()));
  Say({}, {"a"});
  EXPECT_EQ(Sent<v1::BarrierRequest>().context().sequence(), 0u);
  EXPECT_GT(sends_.back().attempt, crossed);
}

TEST_F(GroupsTest, AClaimNamesGroupsByTheirDigests) {
  Complete(2, "let go");
  Drop("let go");
  Complete(3, "live");
  Complete(4, "closed");
  Drop("closed");
  Say({"closed"}, {});
  AttachAgain(2);
  std::map<std::string, std::string> known;
  for (const v1::KnownGroup& group : Claimed().known_groups()) {
    known[group.digest()] = absl::StrCat(group.next_sequence(), group.released() ? " let go" : "",
                                         group.closed() ? " closed" : "");
  }
  EXPECT_EQ(known[DigestOf("let go")], "1 let go");
  EXPECT_EQ(known[DigestOf("live")], "1");
  EXPECT_EQ(known[DigestOf("closed")], "0 closed");
  EXPECT_THAT(Claimed().groups(), IsEmpty()) << "the world has not been called";
  Advance(absl::Seconds(1));
  EXPECT_EQ(CountOf<v1::ReleaseGroupsRequest>(), 0u) << "the claim has said it";
}

TEST_F(GroupsTest, SettledGroupsAreForgotten) {
  Complete(2, "a");
  Complete(3, "b");
  Complete(4, "c");
  for (const char* name : {"a", "b", "c"}) Drop(name);
  Say({"a"}, {});
  Say({}, {"a"});
  Advance(absl::Seconds(1));
  v1::ReleaseGroupsResponse response;
  response.add_settled(DigestOf("b"));
  Reply(absl::OkStatus(), response);
  AttachAgain(2);
  ASSERT_THAT(Claimed().known_groups(), SizeIs(1));
  EXPECT_EQ(Claimed().known_groups(0).digest(), DigestOf("c"));
  Say({}, {"c"});  // the new coordinator does not know the group
  AttachAgain(3);
  EXPECT_THAT(Claimed().known_groups(), IsEmpty());
}

// The answer to a release says nothing about what the program has done since.
TEST_F(GroupsTest, AGroupThatIsCalledAgainMeanwhileIsNotForgotten) {
  Complete(2, "a");
  Drop("a");
  Advance(absl::Seconds(1));
  const uint64_t release = sends_.back().attempt;
  Hold("a");
  Barrier(3, "a");
  v1::ReleaseGroupsResponse response;
  response.add_settled(DigestOf("a"));
  Take(member_.OnReply(now_, release, absl::OkStatus(), response));
  Say({}, {"a"});
  AttachAgain(2);
  ASSERT_THAT(Claimed().known_groups(), SizeIs(1));
  EXPECT_EQ(Claimed().known_groups(0).next_sequence(), 1u);
}

TEST_F(GroupsTest, AnotherGroupOfThatNameWaits) {
  Complete(2, "a");
  Drop("a");
  const GroupId other{kEpoch, "a", {1, 0}};
  member_.Hold(other);
  Take(member_.Collective(now_, 3, other, CollectiveCall(), Deadline(now_, absl::Minutes(1))));
  EXPECT_EQ(CountOf<v1::BarrierRequest>(), 1u);
  EXPECT_EQ(CountOf<v1::ReleaseGroupsRequest>(), 1u);
  Reply(absl::OkStatus(), v1::ReleaseGroupsResponse());
  Say({"a"}, {});
  Say({}, {"a"});
  EXPECT_EQ(CountOf<v1::BarrierRequest>(), 2u);
}

TEST_F(GroupsTest, ATimeOutNamesTheEarlierGroupThatIsNotSettled) {
  Complete(2, "a");
  Drop("a");
  Say({"a"}, {});
  Barrier(3, "a");
  Reply(absl::OkStatus(), v1::ReleaseGroupsResponse());
  Advance(absl::Minutes(2));
  ASSERT_EQ(ends_.count(3), 1u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(ends_.at(3).status()));
  EXPECT_THAT(std::string(ends_.at(3).status().message()),
              ::testing::HasSubstr("an earlier group of this name"));
}

TEST_F(GroupsTest, AnUnknownGroupThatIsClosedIsAcknowledged) {
  Say({"a"}, {});
  Advance(absl::Seconds(1));
  ASSERT_EQ(CountOf<v1::ReleaseGroupsRequest>(), 1u);
  EXPECT_THAT(Sent<v1::ReleaseGroupsRequest>().closed(), ElementsAre(DigestOf("a")));
}

TEST_F(GroupsTest, NothingIsReportedOfAnEndedEpoch) {
  Complete(2, "a");
  Drop("a");
  v1::AttachResponse broken;
  broken.mutable_epoch_broken()->mutable_epoch()->set_number(kEpoch.number);
  broken.mutable_epoch_broken()->mutable_epoch()->set_nonce(kEpoch.nonce);
  broken.mutable_epoch_broken()->set_reason("rank 0 was lost");
  Take(member_.OnStreamResponse(now_, stream_, broken));
  Advance(absl::Minutes(1));
  EXPECT_EQ(CountOf<v1::ReleaseGroupsRequest>(), 0u);
}

}  // namespace
}  // namespace muster::internal
