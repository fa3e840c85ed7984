// NodeCollective calls that are refused: some are returned to their members, some violate a limit.

#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/api/validation.h"
#include "tests/server/core/node_collectives.h"

namespace muster::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kBarrier = CollectiveKind::kBarrier;
constexpr auto kAllGather = CollectiveKind::kAllGather;

// ---- Members repeat calls that cannot be accepted ----

class ResendTest : public NodeCollectivesTest {
 protected:
  ResendTest() : NodeCollectivesTest(3, 1) {}

  // Expects that the batch is returned, that the log says why, and that nothing of it is left.
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
  ExpectResent(batch, "only the root may");
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

// A refusal of all ranks also applies to the later parts of the same batch.
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

TEST_F(NodeCollectivesTest, MalformedCallsAreRefused) {
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

}  // namespace
}  // namespace muster::core
