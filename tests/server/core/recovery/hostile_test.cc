// Limits on what a member may claim and report, so that it cannot harm the others.

#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/api/validation.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

// Returns the status of an Attach at a restarted daemon, with a claim that `spoil` has changed.
absl::StatusCode CodeOf(const std::function<void(Claim&)>& spoil) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  Claim claim = h.ClaimOf(p[0], 0);
  spoil(claim);
  h.Attach(p[0], claim);
  const auto end = h.EndOf(p[0].stream);
  return end ? end->code() : absl::StatusCode::kOk;
}

TEST(HostileTest, OverflowingSequenceNumbersAreRefused) {
  for (const uint64_t number : {kMost, uint64_t{1} << 62, uint64_t{1} << 60}) {
    EXPECT_EQ(CodeOf([&](Claim& c) { c.highest_epoch = number; }), kInvalid);
    EXPECT_EQ(CodeOf([&](Claim& c) { c.epoch->number = number; }), kInvalid);
  }
  for (const uint64_t token : {kMost, uint64_t{1} << 63}) {
    EXPECT_EQ(CodeOf([&](Claim& c) { c.highest_token = token; }), kInvalid);
    EXPECT_EQ(CodeOf([&](Claim& c) {
                c.held.push_back({"w", LeaseScope::kJob, token, 1});
              }),
              kInvalid);
  }
}

TEST(HostileTest, ARejoinIsCheckedForTheSameNumbers) {
  Harness h(Harness::ElasticOptions(1, 2));
  std::vector<Process> p = h.Formed(2);
  RejoinRequest request{h.Context(p[0]), h.ClaimOf(p[0], 0)};
  request.claim.highest_epoch = kMost;
  const WaiterId id = h.NextId();
  h.Absorb(id, h.coordinator().Step(h.now(), id, request));
  EXPECT_EQ(h.StatusOf(id).code(), kInvalid);
  request.claim.highest_epoch = 0;
  request.claim.highest_token = kMost;
  const WaiterId again = h.NextId();
  h.Absorb(again, h.coordinator().Step(h.now(), again, request));
  EXPECT_EQ(h.StatusOf(again).code(), kInvalid);
  EXPECT_TRUE(h.Parked(h.Barrier(p[1]))) << "the epoch is whole";
}

TEST(HostileTest, AcceptedNumbersAreAcceptedAfterARestart) {
  Harness h(Harness::ElasticOptions(1, 2));
  Process liar = h.Attached();
  const WaiterId join = h.Join(liar);
  h.Advance(absl::Seconds(5));
  h.TakePlace(liar, join);
  h.Restart();
  Claim claim = h.ClaimOf(liar, 0);
  claim.highest_epoch = absl::ToUnixMicros(h.now() + kMaxClaimedLead);
  claim.highest_token = claim.highest_epoch << kTokenShift;
  h.Attach(liar, claim);
  ASSERT_FALSE(h.EndOf(liar.stream).has_value());
  const WaiterId rejoin = h.Rejoin(liar);
  h.Advance(absl::Seconds(5));
  h.TakePlace(liar, rejoin);
  EXPECT_GT(liar.epoch.number, claim.highest_epoch);
  const uint64_t token = h.TokenOf(h.Acquire(liar, "w", 1));
  EXPECT_GT(token, claim.highest_token);
  h.Restart();
  Claim honest = h.ClaimOf(liar, 0);
  honest.highest_token = token;
  honest.held.push_back({"w", LeaseScope::kJob, token, 1});
  h.Attach(liar, honest);
  EXPECT_FALSE(h.EndOf(liar.stream).has_value());
}

TEST(HostileTest, ClaimedTextsAreBoundedAndPrintable) {
  const std::string long_text(kMaxTextBytes + 1, 'x');
  for (const std::string& text :
       {long_text, std::string("a\nforged line"), std::string("\x1b[2J"), std::string("a\x7f")}) {
    EXPECT_EQ(CodeOf([&](Claim& c) { c.broken = BrokenClaim{text, {}}; }), kInvalid);
    EXPECT_EQ(CodeOf([&](Claim& c) { c.groups[0].finished = text; }), kInvalid);
    EXPECT_EQ(CodeOf([&](Claim& c) {
                c.broken = BrokenClaim{"r", {{1, (*c.roster)[1].member, text, {}, ""}}};
              }),
              kInvalid);
    EXPECT_EQ(CodeOf([&](Claim& c) {
                c.broken = BrokenClaim{"r", {{1, (*c.roster)[1].member, "c", {}, text}}};
              }),
              kInvalid);
  }
}

TEST(HostileTest, NamesAreCheckedBeforeTheirCallIsDeferred) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 0);
  const std::string forged = "a\nrank 1 was lost";
  const WaiterId barrier = h.Send(h.Request(p[0], CollectiveKind::kBarrier, "", forged, {0, 1}));
  EXPECT_EQ(h.StatusOf(barrier).code(), kInvalid);
  EXPECT_EQ(h.StatusOf(h.Acquire(p[0], forged, 1)).code(), kInvalid);
  Process newcomer = h.Attached();
  JoinRequest request;
  request.topology = forged;
  EXPECT_EQ(h.StatusOf(h.Join(newcomer, request)).code(), kInvalid);
}

// More groups than an honest member can have. The claim is accepted without the groups that exceed
// the limit.
TEST(HostileTest, TheGroupsOfAClaimAreBounded) {
  Harness h(Harness::DefaultOptions(1024));
  std::vector<Process> p = h.Formed(1024);
  h.Restart();
  Claim claim = h.ClaimOf(p[0], 0);
  std::vector<uint32_t> all(1024);
  for (uint32_t i = 0; i < 1024; ++i) all[i] = i;
  for (int i = 0; i <= 1024; ++i) claim.groups.push_back({{absl::StrCat("g", i), all}, 0, ""});
  h.Attach(p[0], claim);
  EXPECT_FALSE(h.EndOf(p[0].stream).has_value());
  EXPECT_THAT(h.log().back().text, testing::HasSubstr("1 cannot be"));
}

TEST(HostileTest, TheMessageOfAWorkErrorCountsAsAPayload) {
  Options options = Harness::DefaultOptions(1);
  options.limits.max_payload_bytes = 100;
  Harness h(options);
  std::vector<Process> p = h.Formed(1);
  const uint64_t token = h.TokenOf(h.Acquire(p[0], "w", 1));
  CompleteLeaseRequest request{h.Context(p[0]), "w", LeaseScope::kJob, {}};
  request.result = {token, absl::InternalError(std::string(101, 'x')),
                    std::make_shared<std::string>()};
  const WaiterId id = h.NextId();
  h.Absorb(id, h.coordinator().Step(h.now(), id, request));
  EXPECT_EQ(h.StatusOf(id).code(), absl::StatusCode::kResourceExhausted);
}

TEST(HostileTest, ErrorsFitIntoMetadataWhateverTheNamesAre) {
  Options options = Harness::DefaultOptions(8);
  options.limits.max_name_bytes = 4096;
  Harness h(options);
  std::string name;
  while (name.size() < 4000) name += "\xc3\xa4";  // three bytes each on the wire
  Process alone = h.Attached(name);
  const WaiterId join = h.Join(alone, {}, absl::Seconds(1));
  h.Advance(absl::Seconds(1));
  size_t encoded = 0;
  const std::string text(h.StatusOf(join).message());
  for (const char c : text) encoded += c >= 0x20 && c < 0x7f ? 1 : 3;
  EXPECT_LE(encoded, 8u << 10);
  EXPECT_THAT(text, HasSubstr("waited 1s for members"));
  EXPECT_EQ(text.substr(text.size() - 3), "...");
}

}  // namespace
}  // namespace muster::core
