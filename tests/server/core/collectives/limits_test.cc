// The limits of a coordinator. Errors name the flag that raises a limit.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

core::Options With(uint32_t world_size, const std::function<void(Limits&)>& set) {
  core::Options options = Harness::DefaultOptions(world_size);
  set(options.limits);
  return options;
}

void ExpectExhausted(const absl::Status& status, const std::string& flag) {
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(flag));
}

TEST(LimitsTest, PayloadOfACollectiveAndOfALease) {
  Harness h(With(1, [](Limits& l) { l.max_payload_bytes = 10; }));
  std::vector<Process> p = h.Formed(1);
  CollectiveRequest request = h.Request(p[0], CollectiveKind::kAllGather, std::string(11, 'x'));
  ExpectExhausted(h.StatusOf(h.Send(request)), "--max-payload-bytes");
  request.payload = std::make_shared<std::string>(10, 'x');
  EXPECT_TRUE(h.StatusOf(h.Send(request)).ok());
  const uint64_t token = h.TokenOf(h.Acquire(p[0], "w", 1));
  ExpectExhausted(h.StatusOf(h.Complete(p[0], "w", token, std::string(11, 'x'))),
                  "--max-payload-bytes");
}

TEST(LimitsTest, HeldBytesAreReleasedByTheNextCollective) {
  Harness h(With(2, [](Limits& l) { l.max_held_bytes = 60; }));
  std::vector<Process> p = h.Formed(2);
  for (int round = 0; round < 20; ++round) {
    h.Send(h.Request(p[0], CollectiveKind::kAllGather, std::string(10, 'a')));
    const WaiterId id = h.Send(h.Request(p[1], CollectiveKind::kAllGather, std::string(10, 'b')));
    ASSERT_TRUE(h.StatusOf(id).ok()) << h.StatusOf(id) << " in round " << round;
  }
  const WaiterId over = h.Send(h.Request(p[0], CollectiveKind::kAllGather, std::string(21, 'a')));
  ExpectExhausted(h.StatusOf(over), "--max-held-bytes");
}

TEST(LimitsTest, MembersWaitersGroupsAndLeases) {
  Harness members(With(2, [](Limits& l) { l.max_members = 2; }));
  members.Formed(2);
  Process third = members.New();
  ExpectExhausted(*members.EndOf(members.Attach(third)), "--max-members");

  Harness waiters(With(3, [](Limits& l) { l.max_waiters = 3; }));
  std::vector<Process> p = waiters.Formed(3);
  for (int i = 0; i < 3; ++i) waiters.Acquire(p[i], "w", 1 + i);
  EXPECT_TRUE(waiters.Parked(waiters.Acquire(p[0], "w", 10)));
  ExpectExhausted(waiters.StatusOf(waiters.Barrier(p[0])), "--max-waiters");

  Harness own(With(3, [](Limits& l) { l.max_waiters_per_member = 2; }));
  std::vector<Process> m = own.Formed(3);
  own.Acquire(m[1], "held", 1);
  own.Acquire(m[0], "held", 2);
  own.Acquire(m[0], "held", 3);
  ExpectExhausted(own.StatusOf(own.Acquire(m[0], "held", 4)), "--max-waiters-per-member");
  EXPECT_TRUE(own.Parked(own.Acquire(m[2], "held", 5))) << "one member's calls are its own affair";

  Harness groups(With(1, [](Limits& l) { l.max_groups = 2; }));
  std::vector<Process> g = groups.Formed(1);
  for (const char* name : {"a", "b"}) {
    EXPECT_TRUE(
        groups.StatusOf(groups.Send(groups.Request(g[0], CollectiveKind::kBarrier, "", name, {0})))
            .ok());
  }
  ExpectExhausted(
      groups.StatusOf(groups.Send(groups.Request(g[0], CollectiveKind::kBarrier, "", "c", {0}))),
      "--max-groups");

  Harness leases(With(1, [](Limits& l) { l.max_leases = 1; }));
  std::vector<Process> q = leases.Formed(1);
  leases.Acquire(q[0], "a", 1);
  ExpectExhausted(leases.StatusOf(leases.Acquire(q[0], "b", 2)), "--max-leases");
}

// Otherwise a member with many groups would be refused when it reconnects, and its job would end.
TEST(LimitsTest, AMemberCanClaimAllItsGroups) {
  const Options options = With(3, [](Limits& l) { l.max_group_ranks = 6; });
  Harness h(options);
  std::vector<Process> p = h.Formed(3);
  const auto arrive = [&h, &p](const std::string& name) {
    WaiterId last = 0;
    for (Process& one : p) {
      last = h.Send(h.Request(one, CollectiveKind::kBarrier, "", name, {0, 1, 2}));
    }
    return h.StatusOf(last);
  };
  EXPECT_TRUE(arrive("a").ok());
  EXPECT_TRUE(arrive("b").ok());
  const absl::Status third = arrive("c");
  ExpectExhausted(third, "--max-group-ranks");
  EXPECT_THAT(std::string(third.message()),
              AllOf(HasSubstr("group 'c'"), HasSubstr("use it for many steps")));

  h.Restart();
  for (Process& one : p) {
    Claim claim = h.ClaimOf(one, 0);
    for (const char* name : {"a", "b"}) claim.groups.push_back({{name, {0, 1, 2}}, 1});
    h.Attach(one, claim);
    EXPECT_FALSE(h.EndOf(one.stream).has_value());
  }
  EXPECT_FALSE(h.Recovering());
}

TEST(LimitsTest, NamesThatWereOnlyWaitedForDoNotFillTheTable) {
  Harness h(With(2, [](Limits& l) { l.max_leases = 1; }));
  std::vector<Process> p = h.Formed(2);
  h.CloseStream(p[1]);  // so that nothing is granted
  for (int i = 0; i < 10; ++i) {
    const WaiterId id = h.Acquire(p[0], "name " + std::to_string(i), i);
    ASSERT_TRUE(h.Parked(id));
    h.Cancel(id);
  }
}

TEST(LimitsTest, OneMemberCannotTakeTheLeasesOfAll) {
  Harness h(With(2, [](Limits& l) { l.max_leases_per_member = 2; }));
  std::vector<Process> p = h.Formed(2);
  h.Acquire(p[0], "a", 1);
  h.Acquire(p[0], "b", 2);
  const absl::Status refused = h.StatusOf(h.Acquire(p[0], "c", 3));
  ExpectExhausted(refused, "--max-leases-per-member");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("job 'train': rank 0 (node 'n0'"));
  EXPECT_GT(h.TokenOf(h.Acquire(p[1], "c", 1)), 0u);
}

TEST(LimitsTest, ALeaseForEveryStepNeverEndsAtTheLimit) {
  Harness h(With(2, [](Limits& l) { l.max_leases = 4; }));
  std::vector<Process> p = h.Formed(2);
  for (int step = 0; step < 20; ++step) {
    const std::string name = "step " + std::to_string(step);
    const uint64_t token = h.TokenOf(h.Acquire(p[step % 2], name, 1 + step));
    ASSERT_GT(token, 0u);
    ASSERT_TRUE(h.StatusOf(h.Complete(p[step % 2], name, token, name)).ok());
    ASSERT_EQ(h.LeaseResultOf(h.Acquire(p[(step + 1) % 2], name, 1 + step)), name);
  }
  int warnings = 0;
  for (const LogLine& line : h.log()) {
    warnings += line.text.find("does its work again (musterd --max-leases") != std::string::npos;
  }
  EXPECT_EQ(warnings, 5) << "of 16 at 1, 2, 4, 8 and 16";
}

TEST(LimitsTest, WorldSizeOverTheLimit) {
  Harness h(With(0, [](Limits& l) { l.max_members = 4; }));
  Process a = h.Attached();
  JoinRequest request;
  request.world_size = 5;
  const absl::Status refused = h.StatusOf(h.Join(a, request));
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << "as for a rank out of range";
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--max-members"));
}

TEST(LimitsTest, LabelsAndTypeNames) {
  Harness h(1);
  std::vector<Process> p = h.Formed(1);
  CollectiveRequest request = h.Request(p[0], CollectiveKind::kBarrier);
  request.label = std::string(257, 'x');
  EXPECT_THAT(std::string(h.StatusOf(h.Send(request)).message()),
              HasSubstr("label has 257 bytes; at most 256 are allowed"));
  request.label = "ok";
  request.type_name = "a\x7f";
  EXPECT_THAT(std::string(h.StatusOf(h.Send(request)).message()),
              HasSubstr("control character (byte 0x7f)"));
  request.type_name = "";
  request.label = "step\xc2\x85";
  EXPECT_EQ(
      std::string(h.StatusOf(h.Send(request)).message()),
      "job 'train': label has a control character (U+0085) at position 4; use printable text");
  request.label = "step\x85";
  EXPECT_THAT(std::string(h.StatusOf(h.Send(request)).message()),
              HasSubstr("label has something that is not UTF-8 (byte 0x85) at position 4"));
}

// An older release may have accepted a launcher with such texts, and a journal may contain them.
TEST(LimitsTest, AVerdictIsMadePrintable) {
  Harness h(1);
  h.Absorb(0, h.coordinator().Step(h.now(), 0,
                                   VerdictFound{"it is in read() of /data/\xc2\x9b"
                                                "2J"}));
  EXPECT_EQ(h.log().back().text, "verdict: it is in read() of /data/?2J");
}

// Every rank is told what all ranks have called, so the text must stay short.
TEST(LimitsTest, ADisagreementOfManySidesIsReportedBriefly) {
  constexpr uint32_t kRanks = 300;
  Harness h(kRanks);
  std::vector<Process> p = h.Formed(kRanks);
  std::vector<WaiterId> calls;
  for (uint32_t r = 0; r < 2; ++r) {
    CollectiveRequest request = h.Request(p[r], CollectiveKind::kBarrier);
    request.label = "the first two agree";
    calls.push_back(h.Send(request));
  }
  for (uint32_t r = 2; r < kRanks; ++r) {
    CollectiveRequest request = h.Request(p[r], CollectiveKind::kBarrier);
    request.label = std::string(250, 'x') + std::to_string(r);
    request.type_name = std::string(256, 'y');
    request.call_site = std::string(1000, 'z');
    calls.push_back(h.Send(request));
  }
  for (WaiterId id : calls) {
    const std::string text(h.StatusOf(id).message());
    EXPECT_THAT(text, HasSubstr("ranks 0-1 called Barrier('the first two agree'), rank 2 called"));
    EXPECT_LT(text.size(), 7000u);
  }
}

TEST(LimitsTest, OptionsAreValidated) {
  core::Options options = Harness::DefaultOptions(2);
  EXPECT_TRUE(options.Validate().ok());
  options.job_id = "";
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("--job is empty"));
  options = Harness::DefaultOptions(2);
  options.limits.max_members = 1;
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("over --max-members"));
  options = Harness::DefaultOptions(2);
  options.default_wait_timeout = absl::ZeroDuration();
  EXPECT_FALSE(options.Validate().ok());
  options = Harness::DefaultOptions(2);
  options.member_grace = -absl::Seconds(1);
  EXPECT_FALSE(options.Validate().ok());
}

}  // namespace
}  // namespace muster::core
