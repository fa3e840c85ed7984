// Collectives at one coordinator: arrivals, answers, time-outs, retries, disagreements and groups.

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Text(const Harness& h, WaiterId id) { return std::string(h.StatusOf(id).message()); }

TEST(CollectivesTest, ABarrierReturnsWhenAllRanksHaveArrived) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  const WaiterId b0 = h.Barrier(p[0]), b2 = h.Barrier(p[2]);
  EXPECT_TRUE(h.Parked(b0) && h.Parked(b2));
  const WaiterId b1 = h.Barrier(p[1]);
  for (WaiterId id : {b0, b1, b2}) EXPECT_TRUE(h.StatusOf(id).ok());
}

TEST(CollectivesTest, ARankThatArrivesTwiceCountsOnce) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  CollectiveRequest request = h.Request(p[0], CollectiveKind::kBarrier);
  const WaiterId first = h.Send(request);
  request.call.attempt += 100;
  const WaiterId second = h.Send(request);
  EXPECT_EQ(h.StatusOf(first).code(), absl::StatusCode::kCancelled);
  const WaiterId b1 = h.Barrier(p[1]);
  EXPECT_TRUE(h.Parked(second) && h.Parked(b1)) << "rank 2 has not arrived";
}

TEST(CollectivesTest, PayloadsGoWhereTheKindSays) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  CollectiveRequest b0 = h.Request(p[0], CollectiveKind::kBroadcast);
  CollectiveRequest b1 = h.Request(p[1], CollectiveKind::kBroadcast, "weights");
  b0.root = b1.root = 1;
  const WaiterId w0 = h.Send(b0), w1 = h.Send(b1);
  EXPECT_THAT(h.PayloadsOf(w0), ElementsAre("weights"));
  EXPECT_THAT(h.PayloadsOf(w1), ElementsAre("weights"));

  const WaiterId g0 = h.Send(h.Request(p[0], CollectiveKind::kGather, "a"));
  const WaiterId g1 = h.Send(h.Request(p[1], CollectiveKind::kGather, "b"));
  EXPECT_THAT(h.PayloadsOf(g0), ElementsAre("a", "b"));
  EXPECT_THAT(h.PayloadsOf(g1), IsEmpty());

  const WaiterId a1 = h.Send(h.Request(p[1], CollectiveKind::kAllGather, "y"));
  const WaiterId a0 = h.Send(h.Request(p[0], CollectiveKind::kAllGather, ""));
  EXPECT_THAT(h.PayloadsOf(a0), ElementsAre("", "y"));
  EXPECT_THAT(h.PayloadsOf(a1), ElementsAre("", "y"));
}

TEST(CollectivesTest, ARetryAfterCompletionGetsTheSameAnswer) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  CollectiveRequest request = h.Request(p[0], CollectiveKind::kAllGather, "x");
  h.Send(request);
  h.Send(h.Request(p[1], CollectiveKind::kAllGather, "y"));
  request.call.attempt += 100;
  EXPECT_THAT(h.PayloadsOf(h.Send(request)), ElementsAre("x", "y"));
  const WaiterId next = h.Barrier(p[1]);
  request.call.attempt += 100;
  EXPECT_THAT(h.PayloadsOf(h.Send(request)), ElementsAre("x", "y"));
  EXPECT_TRUE(h.Parked(next));
}

TEST(CollectivesTest, ATimeOutNamesEveryMissingRankAndWithdrawsTheArrival) {
  Harness h(4);
  std::vector<Process> p = h.Formed(4);
  h.Barrier(p[2], "before");
  h.Barrier(p[0], "before");
  const WaiterId b = h.Barrier(p[1], "before", absl::Seconds(3));
  h.Advance(absl::Seconds(3));
  EXPECT_EQ(h.StatusOf(b).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(h, b), AllOf(HasSubstr("Barrier('before') op 0 of the world"), HasSubstr("3s"),
                                HasSubstr("missing 1 of 4: rank 3 (node"),
                                HasSubstr("rank 3 (node 'n0', host host-n0, pid 1004)"),
                                HasSubstr("no call so far")));
  const WaiterId b3 = h.Barrier(p[3], "before");
  EXPECT_TRUE(h.Parked(b3)) << "rank 1 has withdrawn";
  --p[1].next[""];
  EXPECT_TRUE(h.StatusOf(h.Barrier(p[1], "before")).ok());
  EXPECT_TRUE(h.StatusOf(b3).ok());
}

// Returns the error that a process gets about the second one, which is on `other_node`.
std::string TextOfATimeOut(const std::string& other_node) {
  Harness h(2);
  std::vector<Process> p = {h.Attached("vm/58b986b6-87fa-4517-80b6-85a31b2c8f77"),
                            h.Attached(other_node)};
  const std::vector<WaiterId> joins = {h.Join(p[0]), h.Join(p[1])};
  for (size_t i = 0; i < p.size(); ++i) h.TakePlace(p[i], joins[i]);
  const WaiterId b = h.Barrier(p[0], "x", absl::Seconds(3));
  h.Advance(absl::Seconds(3));
  return Text(h, b);
}

TEST(CollectivesTest, ATimeOutNamesTheHostOfANodeThatWasGivenNoId) {
  EXPECT_THAT(TextOfATimeOut("vm/58b986b6-87fa-4517-80b6-85a31b2c8f77"),
              HasSubstr("rank 1 (host vm, pid 1002)"));
  EXPECT_THAT(TextOfATimeOut("vm/28ab3884-b20c-42a8-a433-36a317b35dbc"),
              HasSubstr("rank 1 (host vm/28ab, pid 1002)"));
}

// Each time-out withdraws an arrival. The rank that never arrived is still the one to name.
TEST(CollectivesTest, ARankThatStoppedWaitingIsNotListedAsMissing) {
  Harness h(4);
  std::vector<Process> p = h.Formed(4);
  const WaiterId first = h.Barrier(p[0], "x", absl::Seconds(1));
  const WaiterId second = h.Barrier(p[1], "x", absl::Seconds(2));
  const WaiterId third = h.Barrier(p[2], "x", absl::Seconds(3));
  h.Advance(absl::Seconds(1));
  EXPECT_THAT(Text(h, first),
              AllOf(HasSubstr("missing 1 of 4: rank 3 (node"), Not(HasSubstr("stopped waiting"))));
  h.Advance(absl::Seconds(2));
  EXPECT_THAT(Text(h, second), AllOf(HasSubstr("missing 1 of 4: rank 3 (node"),
                                     HasSubstr("; arrived and stopped waiting: rank 0")));
  EXPECT_THAT(Text(h, third), HasSubstr("; arrived and stopped waiting: ranks 0-1"));
  const WaiterId last = h.Barrier(p[3], "x", absl::Seconds(1));
  h.Advance(absl::Seconds(1));
  EXPECT_THAT(Text(h, last),
              AllOf(HasSubstr("all 4 arrived, but some of them have stopped waiting: "),
                    HasSubstr("ranks 0-2; rank 0 (node")));
}

TEST(CollectivesTest, WaitsThatEndTogetherNameTheSame) {
  Harness h(4);
  std::vector<Process> p = h.Formed(4);
  std::vector<WaiterId> calls;
  for (int r = 0; r < 3; ++r) calls.push_back(h.Barrier(p[r], "x", absl::Seconds(1)));
  h.Advance(absl::Seconds(1));
  EXPECT_THAT(Text(h, calls[0]), HasSubstr("missing 1 of 4: rank 3 (node"));
  EXPECT_THAT(Text(h, calls[0]), Not(HasSubstr("stopped waiting")));
  for (WaiterId id : calls) EXPECT_EQ(Text(h, id), Text(h, calls[0]));
}

TEST(CollectivesTest, ACancelledArrivalDoesNotCount) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Cancel(h.Barrier(p[0]));
  EXPECT_TRUE(h.Parked(h.Barrier(p[1])));
}

TEST(CollectivesTest, ALateCancelOfAnOlderSendChangesNothing) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  CollectiveRequest request = h.Request(p[0], CollectiveKind::kBarrier);
  const WaiterId first = h.Send(request);
  request.call.attempt += 100;
  const WaiterId second = h.Send(request);
  h.Absorb(0, h.coordinator().Step(h.now(), first, CallCancelled()));
  h.Barrier(p[1]);
  EXPECT_TRUE(h.StatusOf(second).ok());
}

TEST(CollectivesTest, ALateSendOfAnOlderAttemptChangesNothing) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  CollectiveRequest request = h.Request(p[0], CollectiveKind::kBarrier);
  request.call.attempt = 10'000;
  h.Cancel(h.Send(request));
  request.call.attempt = 9'999;
  EXPECT_EQ(h.StatusOf(h.Send(request)).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(h.Parked(h.Barrier(p[1])));
}

TEST(CollectivesTest, ALateDuplicateOfAWithdrawnCallDoesNotCount) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  CollectiveRequest request = h.Request(p[0], CollectiveKind::kBarrier);
  request.call.wait_timeout = absl::Seconds(1);
  const WaiterId timed_out = h.Send(request);
  h.Advance(absl::Seconds(1));
  EXPECT_EQ(h.StatusOf(timed_out).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(h.StatusOf(h.Send(request)).code(), absl::StatusCode::kCancelled);
  const WaiterId other = h.Barrier(p[1]);
  EXPECT_TRUE(h.Parked(other)) << "rank 0 does not wait in the barrier any more";
  request.call.attempt += 100;
  EXPECT_TRUE(h.StatusOf(h.Send(request)).ok());
  EXPECT_TRUE(h.StatusOf(other).ok());
}

TEST(CollectivesTest, ARetryWithOtherContentIsRefused) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  CollectiveRequest request = h.Request(p[0], CollectiveKind::kAllGather, "x");
  h.Cancel(h.Send(request));
  request.call.attempt += 100;
  request.payload = std::make_shared<std::string>("y");
  const WaiterId retry = h.Send(request);
  EXPECT_EQ(h.StatusOf(retry).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(h, retry), HasSubstr("must be repeated with the same content"));
}

TEST(CollectivesTest, DisagreementFailsAllAtOnceAndNamesBothSides) {
  Harness h(4);
  std::vector<Process> p = h.Formed(4);
  const WaiterId b0 = h.Barrier(p[0], "epoch"), b1 = h.Barrier(p[1], "epoch");
  const WaiterId b2 = h.Barrier(p[2], "epoch");
  const WaiterId b3 = h.Send(h.Request(p[3], CollectiveKind::kBroadcast));
  for (WaiterId id : {b0, b1, b2, b3}) {
    EXPECT_EQ(h.StatusOf(id).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Text(h, id),
                HasSubstr("op 0 of the world: ranks 0-2 called Barrier('epoch'), rank 3 "
                          "called Broadcast(root 0)"));
  }
  EXPECT_THAT(Text(h, h.Barrier(p[0])), HasSubstr("rank 3 called Broadcast(root 0)"))
      << "the group is finished, with that text";
}

TEST(CollectivesTest, RootLabelAndTypeMustAgree) {
  for (int field = 0; field < 3; ++field) {
    Harness h(2);
    std::vector<Process> p = h.Formed(2);
    CollectiveRequest r0 = h.Request(p[0], CollectiveKind::kGather, "x");
    CollectiveRequest r1 = h.Request(p[1], CollectiveKind::kGather, "x");
    if (field == 0) r1.root = 1;
    if (field == 1) r1.label = "other";
    if (field == 2) r1.type_name = "int64";
    h.Send(r0);
    EXPECT_THAT(Text(h, h.Send(r1)), HasSubstr("ranks disagree on op 0")) << field;
  }
}

TEST(CollectivesTest, AWithdrawnCallStillDisagrees) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Cancel(h.Barrier(p[0], "a"));
  EXPECT_THAT(Text(h, h.Barrier(p[1], "b")), HasSubstr("ranks disagree"));
}

TEST(CollectivesTest, GroupsHaveSequencesOfTheirOwn) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  const std::vector<uint32_t> ranks = {2, 0};
  const WaiterId w = h.Barrier(p[0]);
  const WaiterId g0 = h.Send(h.Request(p[0], CollectiveKind::kAllGather, "zero", "tp", ranks));
  const WaiterId g2 = h.Send(h.Request(p[2], CollectiveKind::kAllGather, "two", "tp", ranks));
  EXPECT_THAT(h.PayloadsOf(g0), ElementsAre("two", "zero")) << "in the group's order";
  EXPECT_TRUE(h.StatusOf(g2).ok());
  EXPECT_TRUE(h.Parked(w));
}

TEST(CollectivesTest, DisjointGroupsMayShareANameOverlappingOnesMayNot) {
  Harness h(4);
  std::vector<Process> p = h.Formed(4);
  h.Send(h.Request(p[0], CollectiveKind::kBarrier, "", "node", {0, 1}));
  EXPECT_TRUE(h.Parked(h.Send(h.Request(p[2], CollectiveKind::kBarrier, "", "node", {2, 3}))));
  const WaiterId overlap = h.Send(h.Request(p[1], CollectiveKind::kBarrier, "", "node", {1, 2}));
  EXPECT_THAT(Text(h, overlap), AllOf(HasSubstr("two groups are called 'node' and share ranks"),
                                      HasSubstr("ranks 0-1"), HasSubstr("ranks 1-2")));
}

TEST(CollectivesTest, TheSameRanksInAnotherOrderAreAnotherGroup) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Send(h.Request(p[0], CollectiveKind::kBarrier, "", "a", {0, 1}));
  const WaiterId other = h.Send(h.Request(p[1], CollectiveKind::kBarrier, "", "a", {1, 0}));
  EXPECT_THAT(Text(h, other),
              HasSubstr("group 'a' (ranks 0-1) and group 'a' (ranks 1,0), the same ranks in "
                        "another order; groups of one name must be the same list"));
  const WaiterId overlap = h.Send(h.Request(p[1], CollectiveKind::kBarrier, "", "a", {1, 2}));
  EXPECT_THAT(Text(h, overlap), Not(HasSubstr("in another order")));
}

TEST(CollectivesTest, NameAndCallerIdentifyAKnownGroup) {
  Harness h(5);
  std::vector<Process> p = h.Formed(5);
  const auto call = [&](uint32_t rank, std::vector<uint32_t> ranks) {
    return h.Send(
        h.Request(p[rank], CollectiveKind::kAllGather, absl::StrCat(rank), "node", ranks));
  };
  const WaiterId low = call(0, {1, 0});
  EXPECT_TRUE(h.Parked(call(2, {2, 3})));
  call(1, {});
  EXPECT_THAT(h.PayloadsOf(low), ElementsAre("1", "0"));
  EXPECT_THAT(h.PayloadsOf(call(3, {})), ElementsAre("2", "3"));
  EXPECT_THAT(Text(h, call(4, {})), HasSubstr("no group 'node' that rank 4 is in"));
  const WaiterId gather = h.Send([&] {
    CollectiveRequest request = h.Request(p[0], CollectiveKind::kGather, "", "node");
    request.root = 2;
    return request;
  }());
  EXPECT_THAT(Text(h, gather), HasSubstr("group 'node' has 2 members"));
}

TEST(CollectivesTest, MalformedGroupsAreRefused) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const auto refuse = [&](const std::string& name, std::vector<uint32_t> ranks) {
    CollectiveRequest request = h.Request(p[0], CollectiveKind::kBarrier, "", name, ranks);
    const WaiterId id = h.Send(request);
    EXPECT_EQ(h.StatusOf(id).code(), absl::StatusCode::kInvalidArgument) << h.StatusOf(id);
    return Text(h, id);
  };
  EXPECT_THAT(refuse("g", {0, 2}), HasSubstr("names rank 2; the job's ranks are 0-1"));
  EXPECT_THAT(refuse("g", {0, 0}), HasSubstr("names rank 0 twice"));
  EXPECT_THAT(refuse("g", {1}), HasSubstr("rank 0 is not in group 'g'"));
  EXPECT_THAT(refuse("g", {}), HasSubstr("no group 'g' that rank 0 is in"));
  EXPECT_THAT(refuse("", {0}), HasSubstr("the group has ranks but no name"));
  EXPECT_THAT(refuse("a\nb", {0}), HasSubstr("control character"));
  EXPECT_THAT(refuse("a\nb", {}), HasSubstr("control character"));
}

TEST(CollectivesTest, ASequenceNumberOutOfStepIsRefused) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  p[0].next[""] = 5;
  EXPECT_THAT(Text(h, h.Barrier(p[0])), HasSubstr("called op 5 of the world, which is at op 0"));
}

// OK must mean that all ranks have arrived, whatever the numbers are.
TEST(CollectivesTest, OverflowingSequenceNumbersAreRefused) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  for (uint64_t sequence : {~uint64_t{0}, uint64_t{1} << 63, uint64_t{1} << 62}) {
    const WaiterId id = h.SendAt(p[0], sequence, CollectiveKind::kBarrier);
    EXPECT_EQ(h.StatusOf(id).code(), absl::StatusCode::kInvalidArgument) << h.StatusOf(id);
    EXPECT_THAT(Text(h, id), HasSubstr("is too large"));
  }
  const WaiterId ahead = h.SendAt(p[0], (uint64_t{1} << 62) - 1, CollectiveKind::kBarrier);
  EXPECT_EQ(h.StatusOf(ahead).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(CollectivesTest, ACollectiveThatNeverHappenedCannotBeRepeated) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  CollectiveRequest request = h.Request(p[0], CollectiveKind::kBarrier, "", "g", {0, 1});
  request.sequence = ~uint64_t{0};
  EXPECT_FALSE(h.StatusOf(h.Send(request)).ok());
}

TEST(CollectivesTest, AClaimOfAnUnseenCollectiveFinishesTheGroup) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId waits = h.Barrier(p[1]);
  h.CloseStream(p[0]);
  h.Recover(p[0], 1);
  EXPECT_EQ(h.StatusOf(waits).code(), absl::StatusCode::kFailedPrecondition) << h.StatusOf(waits);
  EXPECT_THAT(Text(h, waits), AllOf(HasSubstr("rank 0 says that it has completed op 0"),
                                    HasSubstr("the coordinator has it at op 0")));
}

TEST(CollectivesTest, ARootOutOfRangeAndAStrayPayloadAreRefused) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  CollectiveRequest request = h.Request(p[0], CollectiveKind::kBroadcast, "x");
  request.root = 2;
  EXPECT_THAT(Text(h, h.Send(request)),
              HasSubstr("root 2 is out of range: the world has 2 members"));
  request.root = 1;
  EXPECT_THAT(Text(h, h.Send(request)), HasSubstr("only the root may"));
  --p[0].next[""];
  EXPECT_TRUE(h.Parked(h.Barrier(p[0]))) << "refused arrivals fix nothing";
}

TEST(CollectivesTest, AStaleEpochIsRefused) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  ++p[0].epoch.nonce;
  const WaiterId id = h.Barrier(p[0]);
  EXPECT_EQ(h.StatusOf(id).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Text(h, id), HasSubstr("is not the current one"));
}

TEST(CollectivesTest, SizesThatMustAgreeAndCallSitesAreNamed) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  CollectiveRequest a = h.Request(p[0], CollectiveKind::kAllGather, "1234");
  a.payload_size = 4;
  a.call_site = "train.cc:42";
  CollectiveRequest b = h.Request(p[1], CollectiveKind::kAllGather, "12345678");
  b.payload_size = 8;
  b.call_site = "load.cc:7";
  const WaiterId waits = h.Send(a);
  h.Send(b);
  EXPECT_EQ(h.StatusOf(waits).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(h, waits), HasSubstr("rank 0 called AllGather(4 bytes) at train.cc:42, rank 1 "
                                        "called AllGather(8 bytes) at load.cc:7"));
}

TEST(CollectivesTest, CallSitesAloneNeedNotAgree) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  CollectiveRequest a = h.Request(p[0], CollectiveKind::kBarrier);
  a.call_site = "train.cc:42";
  h.Send(a);
  EXPECT_TRUE(h.StatusOf(h.Barrier(p[1])).ok());
}

TEST(CollectivesTest, APayloadOfAnotherSizeThanItsCallSaysIsRefused) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  CollectiveRequest a = h.Request(p[0], CollectiveKind::kGather, "123");
  a.payload_size = 4;
  EXPECT_EQ(h.StatusOf(h.Send(a)).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace muster::core
