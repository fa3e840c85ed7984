// Groups that programs release: when they are closed, settled and forgotten, over restarts too.

#include <set>

#include "absl/strings/str_cat.h"
#include "common/names/group_digest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kBarrier = CollectiveKind::kBarrier;

std::string DigestOf(const std::string& name, const std::vector<uint32_t>& ranks) {
  return GroupDigest(name, ranks);
}

class ReleasingTest : public ::testing::Test {
 protected:
  void Form(Options options) {
    h_ = std::make_unique<Harness>(std::move(options));
    const uint32_t size = h_->coordinator().options().world_size;
    p_ = h_->Formed(size);
    for (uint32_t rank = 0; rank < size; ++rank) all_.push_back(rank);
  }
  void Form(uint32_t size) { Form(Harness::DefaultOptions(size)); }

  WaiterId Arrive(Process& process, const std::string& name) {
    return h_->Send(h_->Request(process, kBarrier, "", name, all_));
  }
  // Has all members complete one barrier of the group.
  void Complete(const std::string& name) {
    WaiterId last = 0;
    for (Process& process : p_) last = Arrive(process, name);
    ASSERT_TRUE(h_->StatusOf(last).ok()) << h_->StatusOf(last);
  }

  ReleaseRequest Request(Process& process) { return {h_->Context(process), process.epoch, {}, {}}; }
  WaiterId Send(const ReleaseRequest& request) {
    const WaiterId id = h_->NextId();
    return h_->Absorb(id, h_->coordinator().Step(h_->now(), id, request));
  }
  WaiterId Release(Process& process, const std::string& name) {
    ReleaseRequest request = Request(process);
    request.released.push_back({DigestOf(name, all_), process.next[name]});
    return Send(request);
  }
  WaiterId Acknowledge(Process& process, const std::string& name) {
    ReleaseRequest request = Request(process);
    request.closed.push_back(DigestOf(name, all_));
    process.next[name] = 0;
    return Send(request);
  }
  void ReleaseByAll(const std::string& name) {
    for (Process& process : p_) Release(process, name);
  }
  std::vector<std::string> SettledIn(WaiterId id) {
    EXPECT_TRUE(h_->StatusOf(id).ok()) << h_->StatusOf(id);
    return std::get<ReleaseAnswer>(h_->ReplyTo(id).answer).settled;
  }

  int Closed(const Process& process, const std::string& name) {
    int times = 0;
    for (const GroupsClosed& event : h_->Events<GroupsClosed>(process.stream)) {
      EXPECT_EQ(event.epoch, process.epoch);
      for (const std::string& digest : event.closed) times += digest == DigestOf(name, all_);
    }
    return times;
  }
  int Settled(const Process& process, const std::string& name) {
    int times = 0;
    for (const GroupsClosed& event : h_->Events<GroupsClosed>(process.stream)) {
      for (const std::string& digest : event.settled) times += digest == DigestOf(name, all_);
    }
    return times;
  }

  KnownGroup Known(const std::string& name, uint64_t next, bool released = false) {
    return {DigestOf(name, all_), next, {}, released, false};
  }
  KnownGroup Tombstone(const std::string& name) {
    return {DigestOf(name, all_), 0, {}, false, true};
  }
  uint64_t HeldBytes() const { return h_->coordinator().Measure(h_->now()).held_bytes; }
  void Recover(Process& process, const std::vector<KnownGroup>& groups) {
    Claim claim = h_->ClaimOf(process, 0);
    claim.known_groups = groups;
    h_->Attach(process, claim);
    ASSERT_FALSE(h_->EndOf(process.stream).has_value()) << *h_->EndOf(process.stream);
  }

  std::unique_ptr<Harness> h_;
  std::vector<Process> p_;
  std::vector<uint32_t> all_;
};

TEST_F(ReleasingTest, AGroupIsClosedWhenAllHaveReleasedIt) {
  Form(3);
  Complete("a");
  Release(p_[0], "a");
  Release(p_[1], "a");
  EXPECT_EQ(Closed(p_[0], "a"), 0) << "one rank needs it yet";
  Release(p_[2], "a");
  for (const Process& process : p_) EXPECT_EQ(Closed(process, "a"), 1);
  EXPECT_EQ(Settled(p_[0], "a"), 0);
}

TEST_F(ReleasingTest, AClosedGroupIsSettledWhenAllKnowAndBeginsAnew) {
  Form(2);
  Complete("a");
  Complete("a");
  ReleaseByAll("a");
  Acknowledge(p_[0], "a");
  const WaiterId early = Arrive(p_[0], "a");
  EXPECT_TRUE(absl::IsUnavailable(h_->StatusOf(early))) << "rank 1 does not know";
  p_[0].next["a"] = 0;
  Acknowledge(p_[1], "a");
  for (const Process& process : p_) EXPECT_EQ(Settled(process, "a"), 1);
  Complete("a");  // from number 0
}

// The limit on what a member may have to claim limits its groups too.
TEST_F(ReleasingTest, AGroupPerStepNeverRunsIntoTheLimits) {
  Options options = Harness::DefaultOptions(2);
  options.limits.max_groups = 3;
  options.limits.max_group_ranks = 4;
  Form(options);
  for (int step = 0; step < 50; ++step) {
    const std::string name = absl::StrCat("step ", step);
    Complete(name);
    ReleaseByAll(name);
    for (Process& process : p_) Acknowledge(process, name);
    ASSERT_EQ(Settled(p_[1], name), 1);
  }
}

TEST_F(ReleasingTest, GroupsThatNobodyAcknowledgesAreBoundedToo) {
  Options options = Harness::DefaultOptions(2);
  options.limits.max_group_ranks = 4;
  Form(options);
  for (const char* name : {"a", "b", "c", "d"}) {
    Complete(name);
    ReleaseByAll(name);
  }
  EXPECT_EQ(Closed(p_[0], "b"), 1);
  EXPECT_EQ(Closed(p_[0], "c"), 0) << "there is no room to close it";
  const WaiterId refused = Arrive(p_[0], "e");
  EXPECT_TRUE(absl::IsResourceExhausted(h_->StatusOf(refused)));
  for (Process& process : p_) Acknowledge(process, "a");
  EXPECT_EQ(Closed(p_[0], "c"), 1) << "there is room again";
}

TEST_F(ReleasingTest, ACallTakesTheReleaseBack) {
  Form(2);
  Complete("a");
  Release(p_[0], "a");
  const WaiterId again = Arrive(p_[0], "a");
  Release(p_[1], "a");
  EXPECT_EQ(Closed(p_[0], "a"), 0);
  EXPECT_TRUE(h_->Parked(again));
  Arrive(p_[1], "a");
  EXPECT_TRUE(h_->StatusOf(again).ok());
}

TEST_F(ReleasingTest, AReleaseThatArrivesLateDoesNotCount) {
  Form(2);
  Complete("a");
  ReleaseRequest late = Request(p_[0]);
  late.released.push_back({DigestOf("a", all_), 1});
  const WaiterId again = Arrive(p_[0], "a");
  Send(late);
  Release(p_[1], "a");
  EXPECT_EQ(Closed(p_[0], "a"), 0);
  EXPECT_TRUE(h_->Parked(again)) << "nor does it end the call";
}

TEST_F(ReleasingTest, ARetryOfACompletedCollectiveKeepsTheRelease) {
  Form(2);
  Complete("a");
  Release(p_[0], "a");
  --p_[0].next["a"];
  EXPECT_TRUE(h_->StatusOf(Arrive(p_[0], "a")).ok()) << "it contributes once more";
  Release(p_[1], "a");
  EXPECT_EQ(Closed(p_[0], "a"), 1);
}

TEST_F(ReleasingTest, AGroupStaysWhileARankLacksItsLastAnswer) {
  Form(2);
  Complete("a");
  Release(p_[0], "a");
  ReleaseRequest behind = Request(p_[1]);
  behind.released.push_back({DigestOf("a", all_), 0});
  Send(behind);
  EXPECT_EQ(Closed(p_[0], "a"), 0);
  --p_[1].next["a"];
  EXPECT_TRUE(h_->StatusOf(Arrive(p_[1], "a")).ok()) << "rank 1 gets it";
  Release(p_[1], "a");
  EXPECT_EQ(Closed(p_[0], "a"), 1);
}

TEST_F(ReleasingTest, RanksThatHaveNotCalledAreNotWaitedFor) {
  Form(2);
  h_->Cancel(Arrive(p_[0], "a"));
  p_[0].next["a"] = 0;
  Release(p_[0], "a");
  EXPECT_EQ(Closed(p_[0], "a"), 1);
  EXPECT_EQ(Closed(p_[1], "a"), 0);
  EXPECT_TRUE(absl::IsUnavailable(h_->StatusOf(Arrive(p_[1], "a"))));
  p_[1].next["a"] = 0;
  Acknowledge(p_[0], "a");
  EXPECT_EQ(Settled(p_[0], "a"), 1);
  Complete("a");
}

TEST_F(ReleasingTest, AnUnknownGroupIsSettledAtOnce) {
  Form(2);
  EXPECT_THAT(SettledIn(Release(p_[0], "never called")),
              ElementsAre(DigestOf("never called", all_)));
  EXPECT_THAT(SettledIn(Acknowledge(p_[0], "gone")), ElementsAre(DigestOf("gone", all_)));
}

TEST_F(ReleasingTest, SendsOfTheEarlierGroupDoNotCountInTheNextOne) {
  Form(2);
  CollectiveRequest late = h_->Request(p_[0], kBarrier, "", "a", all_);
  p_[0].next["a"] = 0;
  Complete("a");
  ReleaseByAll("a");
  for (Process& process : p_) Acknowledge(process, "a");
  EXPECT_TRUE(absl::IsUnavailable(h_->StatusOf(h_->Send(late)))) << "and makes no group";
  const WaiterId second = Arrive(p_[1], "a");
  EXPECT_TRUE(absl::IsUnavailable(h_->StatusOf(h_->Send(late))));
  EXPECT_TRUE(h_->Parked(second));
  EXPECT_TRUE(h_->StatusOf(Arrive(p_[0], "a")).ok());
}

TEST_F(ReleasingTest, AGroupOfTheSameNameMustWaitForTheRelease) {
  Form(3);
  WaiterId last = 0;
  for (uint32_t rank : {0, 1}) last = h_->Send(h_->Request(p_[rank], kBarrier, "", "a", {0, 1}));
  ASSERT_TRUE(h_->StatusOf(last).ok());
  const auto call = [&] {
    p_[2].next["a"] = 0;
    return h_->StatusOf(h_->Send(h_->Request(p_[2], kBarrier, "", "a", {1, 2})));
  };
  EXPECT_TRUE(absl::IsFailedPrecondition(call())) << "rank 1 has it";
  ReleaseRequest release = Request(p_[1]);
  release.released.push_back({DigestOf("a", {0, 1}), 1});
  Send(release);
  EXPECT_TRUE(absl::IsUnavailable(call())) << "rank 0 has it";
  p_[2].next["a"] = 0;
  CollectiveRequest impatient = h_->Request(p_[2], kBarrier, "", "a", {1, 2});
  impatient.call.wait_timeout = absl::ZeroDuration();
  EXPECT_TRUE(absl::IsDeadlineExceeded(h_->StatusOf(h_->Send(impatient))));
}

TEST_F(ReleasingTest, TheWorldAndFinishedGroupsStay) {
  Form(2);
  Complete("a");
  Arrive(p_[0], "a");
  CollectiveRequest other = h_->Request(p_[1], CollectiveKind::kAllGather, "x", "a", all_);
  EXPECT_TRUE(absl::IsFailedPrecondition(h_->StatusOf(h_->Send(other))));
  for (Process& process : p_) process.next["a"] = 1;
  ReleaseByAll("a");
  EXPECT_EQ(Closed(p_[0], "a"), 0);
}

// ---- Hostile and malformed calls ----

TEST_F(ReleasingTest, AMemberCannotReleaseAGroupOfOthers) {
  Form(3);
  const std::string digest = DigestOf("a", {0, 1});
  WaiterId last = 0;
  for (uint32_t rank : {0, 1}) last = h_->Send(h_->Request(p_[rank], kBarrier, "", "a", {0, 1}));
  ASSERT_TRUE(h_->StatusOf(last).ok());
  ReleaseRequest own = Request(p_[0]);
  own.released.push_back({digest, 1});
  Send(own);
  ReleaseRequest stranger = Request(p_[2]);
  stranger.released.push_back({digest, 1});
  stranger.closed.push_back(digest);
  EXPECT_TRUE(h_->StatusOf(Send(stranger)).ok());
  EXPECT_THAT(h_->Events<GroupsClosed>(p_[0].stream), IsEmpty());
  EXPECT_TRUE(h_->Parked(h_->Send(h_->Request(p_[1], kBarrier, "", "a", {0, 1}))));
}

TEST_F(ReleasingTest, AMemberCannotSettleAGroupForOthers) {
  Form(3);
  Complete("a");
  ReleaseByAll("a");
  for (int i = 0; i < 3; ++i) Acknowledge(p_[0], "a");
  EXPECT_EQ(Settled(p_[0], "a"), 0);
}

TEST_F(ReleasingTest, MalformedReleasesAreRefused) {
  Form(1);
  ReleaseRequest shorter = Request(p_[0]);
  shorter.released.push_back({"short", 0});
  EXPECT_THAT(h_->StatusOf(Send(shorter)).message(), HasSubstr("digest has 5 bytes"));
  ReleaseRequest closed = Request(p_[0]);
  closed.closed.push_back("");
  EXPECT_TRUE(absl::IsInvalidArgument(h_->StatusOf(Send(closed))));
  ReleaseRequest far = Request(p_[0]);
  far.released.push_back({DigestOf("a", all_), ~uint64_t{0}});
  EXPECT_THAT(h_->StatusOf(Send(far)).message(), HasSubstr("next sequence number"));
  ReleaseRequest many = Request(p_[0]);
  many.closed.assign(1025, DigestOf("a", all_));
  EXPECT_TRUE(absl::IsResourceExhausted(h_->StatusOf(Send(many))));
  ReleaseRequest other = Request(p_[0]);
  ++other.epoch.number;
  EXPECT_TRUE(absl::IsAborted(h_->StatusOf(Send(other))));
}

TEST_F(ReleasingTest, AClaimOfAnySizeIsTaken) {
  Options options = Harness::DefaultOptions(2);
  options.limits.max_groups = 2;
  options.limits.max_group_ranks = 4;
  Form(options);
  h_->Restart();
  for (Process& process : p_) {
    std::vector<KnownGroup> groups;
    for (int i = 0; i < 100; ++i) groups.push_back(Known(absl::StrCat("group ", i), 1));
    Recover(process, groups);
  }
  EXPECT_FALSE(h_->Recovering());
  p_[0].next["group 1"] = p_[1].next["group 1"] = 1;
  Complete("group 1");
}

TEST_F(ReleasingTest, ARankThatAttachesAgainAndAgainTakesNoMoreMemory) {
  Form(2);
  h_->Restart();
  uint64_t held = 0;
  for (int attach = 0; attach < 20; ++attach) {
    KnownGroup group = Known(absl::StrCat("group ", attach), 1);
    group.finished = std::string(1000, 'x');
    Recover(p_[0], {group});
    if (attach == 0) held = HeldBytes();
    EXPECT_GT(held, 1000u);
    EXPECT_EQ(HeldBytes(), held);
  }
  Recover(p_[0], {});
  EXPECT_EQ(HeldBytes(), 0u);
}

TEST_F(ReleasingTest, ClaimsStayWithinTheLimitOnHeldBytes) {
  Options options = Harness::DefaultOptions(2);
  options.limits.max_held_bytes = 5000;
  Form(options);
  h_->Restart();
  for (Process& process : p_) {
    std::vector<KnownGroup> groups;
    for (int i = 0; i < 4; ++i) {
      KnownGroup& group = groups.emplace_back(Known(absl::StrCat("group ", i), 1));
      group.finished = std::string(1000, 'x');
    }
    Recover(process, groups);
    EXPECT_LE(HeldBytes(), 5000u);
  }
  EXPECT_FALSE(h_->Recovering());
  p_[0].next["b"] = p_[1].next["b"] = 0;
  Complete("b");
}

// ---- A restart at any point ----

TEST_F(ReleasingTest, ARestartedDaemonHearsOfGroupsByTheirDigests) {
  Form(2);
  Complete("a");
  h_->Restart();
  Recover(p_[0], {Known("a", 1)});
  Recover(p_[1], {Known("a", 0)});
  p_[1].next["a"] = 0;
  EXPECT_TRUE(h_->StatusOf(Arrive(p_[1], "a")).ok()) << "rank 0 has the result";
  Complete("a");
}

TEST_F(ReleasingTest, ARestartedDaemonKnowsFinishedGroups) {
  Form(2);
  h_->Restart();
  KnownGroup finished = Known("a", 1);
  finished.finished = "they disagreed";
  Recover(p_[0], {finished});
  Recover(p_[1], {Known("a", 1)});
  p_[1].next["a"] = 1;
  const WaiterId call = Arrive(p_[1], "a");
  EXPECT_THAT(h_->StatusOf(call).message(), HasSubstr("they disagreed"));
}

TEST_F(ReleasingTest, AReleasedGroupIsClosedAfterARestart) {
  Form(2);
  Complete("a");
  h_->Restart();
  Recover(p_[0], {Known("a", 1, /*released=*/true)});
  EXPECT_EQ(Closed(p_[0], "a"), 0) << "rank 1 may need it";
  Recover(p_[1], {Known("a", 1, /*released=*/true)});
  for (const Process& process : p_) EXPECT_EQ(Closed(process, "a"), 1);
  for (Process& process : p_) Acknowledge(process, "a");
  EXPECT_EQ(Settled(p_[0], "a"), 1);
  Complete("a");
}

TEST_F(ReleasingTest, ReleasesAfterARestartCloseAGroupThatNobodyHasNamed) {
  Form(2);
  Complete("a");
  h_->Restart();
  Recover(p_[0], {Known("a", 1, /*released=*/true)});
  Recover(p_[1], {Known("a", 1)});
  EXPECT_EQ(Closed(p_[0], "a"), 0);
  Release(p_[1], "a");
  EXPECT_EQ(Closed(p_[0], "a"), 1);
}

// Rank 0 releases group "a", and later acknowledges that another group is closed. Its release of
// "a" must still count when rank 1 names the ranks of "a".
TEST_F(ReleasingTest, AnAcknowledgementAfterAReleaseDoesNotUndoIt) {
  Form(2);
  Complete("a");
  h_->Restart();
  Recover(p_[0], {Known("a", 1), Known("b", 1, /*released=*/true)});
  Recover(p_[1], {Known("a", 0), Known("b", 1, /*released=*/true)});
  Release(p_[0], "a");
  Acknowledge(p_[0], "b");
  p_[1].next["a"] = 0;
  EXPECT_TRUE(h_->StatusOf(Arrive(p_[1], "a")).ok()) << "rank 0 has the result";
  Release(p_[1], "a");
  EXPECT_EQ(Closed(p_[0], "a"), 1);
}

TEST_F(ReleasingTest, ACallAfterARestartTakesTheReleaseBack) {
  Form(2);
  Complete("a");
  h_->Restart();
  Recover(p_[0], {Known("a", 1, /*released=*/true)});
  Recover(p_[1], {Known("a", 1)});
  const WaiterId again = Arrive(p_[0], "a");
  Release(p_[1], "a");
  EXPECT_EQ(Closed(p_[1], "a"), 0);
  EXPECT_TRUE(h_->Parked(again));
}

// Rank 0 knows that the group is settled, and has called it again; rank 1 does not know yet.
// Without a tombstone, the daemon would take rank 0's number 0 for a call of the old group, in
// which rank 2 is at number 1.
TEST_F(ReleasingTest, ATombstoneKeepsAnOldSequenceFromComingBack) {
  Form(3);
  Complete("a");
  h_->Restart();
  Recover(p_[0], {Known("a", 0)});
  p_[0].next["a"] = 0;
  const WaiterId early = Arrive(p_[0], "a");
  Recover(p_[1], {Tombstone("a")});
  Recover(p_[2], {Known("a", 1, /*released=*/true)});
  EXPECT_TRUE(absl::IsUnavailable(h_->StatusOf(early)));
  EXPECT_EQ(Closed(p_[0], "a"), 1);
  EXPECT_EQ(Closed(p_[1], "a"), 0) << "it knows";
  EXPECT_EQ(Closed(p_[2], "a"), 1);
  Acknowledge(p_[2], "a");
  EXPECT_EQ(Settled(p_[1], "a"), 0);
  Acknowledge(p_[0], "a");
  for (Process& process : p_) {
    EXPECT_EQ(Settled(process, "a"), 1);
    process.next["a"] = 0;
  }
  Complete("a");
}

TEST_F(ReleasingTest, TombstonesOfAllAreSettledAfterARestart) {
  Form(3);
  Complete("a");
  h_->Restart();
  Recover(p_[0], {});  // it has forgotten
  Recover(p_[1], {Tombstone("a")});
  EXPECT_EQ(Settled(p_[1], "a"), 0);
  Recover(p_[2], {Tombstone("a")});
  EXPECT_EQ(Settled(p_[1], "a"), 1);
  EXPECT_EQ(Settled(p_[2], "a"), 1);
  for (Process& process : p_) process.next["a"] = 0;
  Complete("a");
}

// ---- A member that attaches again at the same daemon ----

TEST_F(ReleasingTest, EventsThatWereLostComeAgain) {
  Form(2);
  Complete("a");
  Release(p_[0], "a");
  h_->CloseStream(p_[1]);
  Recover(p_[1], {Known("a", 1, /*released=*/true)});
  EXPECT_EQ(Closed(p_[1], "a"), 1) << "its claim has released it";
  Recover(p_[1], {Known("a", 1, /*released=*/true)});
  EXPECT_EQ(Closed(p_[1], "a"), 1) << "on the new stream";
  Acknowledge(p_[0], "a");
  Recover(p_[1], {Tombstone("a")});
  EXPECT_EQ(Settled(p_[0], "a"), 1);
  EXPECT_EQ(Settled(p_[1], "a"), 1);
  Recover(p_[1], {Tombstone("a")});
  EXPECT_EQ(Settled(p_[1], "a"), 1) << "of a group that nobody knows";
}

TEST_F(ReleasingTest, ATombstoneSaysNothingOfTheNextGroup) {
  Form(2);
  Complete("a");
  ReleaseByAll("a");
  for (Process& process : p_) Acknowledge(process, "a");
  const WaiterId next = Arrive(p_[0], "a");
  Recover(p_[1], {Tombstone("a")});
  EXPECT_EQ(Settled(p_[1], "a"), 1);
  EXPECT_TRUE(h_->Parked(next));
  EXPECT_TRUE(h_->StatusOf(Arrive(p_[1], "a")).ok());
}

}  // namespace
}  // namespace muster::core
