// Members whose environment differs from the environment of the others.
#include "server/core/api/member_fingerprint.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::shared_ptr<const Facts> Make(Facts facts) {
  return std::make_shared<const Facts>(std::move(facts));
}

// Returns `size` members with these facts, four on each node.
std::vector<FingerprintedMember> Alike(uint32_t size, const Facts& facts) {
  const std::shared_ptr<const Facts> shared = Make(facts);
  std::vector<FingerprintedMember> members;
  for (uint32_t rank = 0; rank < size; ++rank) {
    members.push_back({rank, absl::StrCat("n", rank / 4), shared, {}, {}});
  }
  return members;
}

TEST(DescribeMismatchesTest, IsEmptyIfAllMembersAreAlike) {
  EXPECT_THAT(DescribeMismatches(Alike(16, {{"NCCL", "2.28.9"}})), IsEmpty());
  EXPECT_THAT(DescribeMismatches({}), IsEmpty());
}

TEST(DescribeMismatchesTest, NamesTheDeviatingMember) {
  std::vector<FingerprintedMember> members = Alike(16, {{"NCCL", "2.28.9"}});
  members[9].facts = Make({{"NCCL", "2.27.3"}});
  EXPECT_THAT(DescribeMismatches(members),
              ElementsAre("rank 9 (node 'n2') has NCCL 2.27.3, the other 15 have 2.28.9"));
}

TEST(DescribeMismatchesTest, NamesSeveralMembersAndMissingValues) {
  std::vector<FingerprintedMember> members = Alike(8, {{"NCCL_ALGO", "Ring"}});
  members[1].facts = Make({{"NCCL_ALGO", "Tree"}});
  members[4].facts = members[5].facts = Make({});
  EXPECT_THAT(DescribeMismatches(members),
              ElementsAre("rank 1 (node 'n0') has NCCL_ALGO=Tree, ranks 4-5 (node 'n1') have no "
                          "NCCL_ALGO, the other 5 have NCCL_ALGO=Ring"));
}

TEST(DescribeMismatchesTest, WithoutAMajorityAllAreNamed) {
  std::vector<FingerprintedMember> members = Alike(2, {{"program", "train, build 1"}});
  members[1].facts = Make({{"program", "train, build 2"}});
  EXPECT_THAT(DescribeMismatches(members),
              ElementsAre("rank 0 (node 'n0') has program train, build 1, rank 1 (node 'n0') has "
                          "program train, build 2"));
}

TEST(DescribeMismatchesTest, NamesTheOnlyMemberThatHasAFact) {
  std::vector<FingerprintedMember> members = Alike(3, {});
  members[2].facts = Make({{"NCCL_DEBUG", "INFO"}});
  EXPECT_THAT(DescribeMismatches(members),
              ElementsAre("rank 2 (node 'n0') has NCCL_DEBUG=INFO, the other 2 have none"));
}

TEST(DescribeMismatchesTest, AFactThatDiffersEverywhereIsNoMismatch) {
  std::vector<FingerprintedMember> members = Alike(10, {});
  for (FingerprintedMember& member : members) {
    member.facts = Make({{"NCCL_SOCKET_IFNAME", absl::StrCat("eth", member.rank)}});
  }
  EXPECT_THAT(DescribeMismatches(members), IsEmpty());
}

TEST(DescribeMismatchesTest, MembersWithoutFactsAreNotCompared) {
  std::vector<FingerprintedMember> members = Alike(4, {{"NCCL", "2.28.9"}});
  members[2].facts = nullptr;
  EXPECT_THAT(DescribeMismatches(members), IsEmpty());
}

TEST(DescribeMismatchesTest, TheNumberOfTextsIsBounded) {
  std::vector<FingerprintedMember> members = Alike(4, {});
  Facts many;
  for (int i = 0; i < 100; ++i) many[absl::StrCat("NCCL_", i)] = "1";
  members[0].facts = Make(many);
  const std::vector<std::string> texts = DescribeMismatches(members);
  EXPECT_THAT(texts, SizeIs(20));
  EXPECT_EQ(texts.back(), "and 81 more differences");
}

TEST(DescribeMismatchesTest, NodeClocksAreComparedWithTheCoordinators) {
  std::vector<FingerprintedMember> members = Alike(12, {});
  for (FingerprintedMember& member : members) member.clock_ahead = absl::Milliseconds(-20);
  // One message was long in flight. The node's other members show that its clock is right.
  members[4].clock_ahead = absl::Seconds(-3);
  for (int i = 8; i < 12; ++i) members[i].clock_ahead = absl::Seconds(-7);
  EXPECT_THAT(DescribeMismatches(members),
              ElementsAre(HasSubstr("the clock of node 'n2' (ranks 8-11) is 7s behind the "
                                    "coordinator's")));
}

TEST(DescribeMismatchesTest, IfAllNodesAgreeTheCoordinatorsClockIsWrong) {
  std::vector<FingerprintedMember> members = Alike(8, {});
  for (FingerprintedMember& member : members) member.clock_ahead = absl::Seconds(60);
  members[0].clock_ahead = absl::Seconds(59);
  EXPECT_THAT(
      DescribeMismatches(members),
      ElementsAre("the coordinator's clock is at least 59s behind the clocks of all 2 nodes"));
}

TEST(DescribeMismatchesTest, LowSharedMemoryIsReportedWithItsUse) {
  std::vector<FingerprintedMember> members = Alike(8, {{"NCCL", "2.28.9"}});
  for (FingerprintedMember& member : members) member.free_shared_memory = 1ull << 30;
  members[5].free_shared_memory = 64ull << 20;  // Docker's default
  EXPECT_THAT(
      DescribeMismatches(members),
      ElementsAre(AllOf(HasSubstr("node 'n1' (ranks 4-7) has 64 MiB"), HasSubstr("--shm-size"))));
  members = Alike(8, {});
  for (FingerprintedMember& member : members) member.free_shared_memory = 64ull << 20;
  EXPECT_THAT(DescribeMismatches(members), IsEmpty());
}

TEST(FactsInternerTest, EqualFactsAreShared) {
  FactsInterner interner;
  const auto first = interner.Intern(Make({{"NCCL", "2.28.9"}}));
  EXPECT_EQ(interner.Intern(Make({{"NCCL", "2.28.9"}})), first);
  EXPECT_NE(interner.Intern(Make({{"NCCL", "2.27.3"}})), first);
}

// ---- The coordinator ----

class FingerprintTest : public ::testing::Test {
 protected:
  WaiterId Join(Process& process, Facts facts) {
    JoinRequest request;
    request.fingerprint = Fingerprint{Make(std::move(facts)), harness_.now(), {}};
    return harness_.Join(process, request);
  }

  std::vector<std::string> Oddities() {
    return harness_.coordinator().GetStatus(harness_.now()).oddities;
  }

  Harness harness_{2};
};

TEST_F(FingerprintTest, IsComparedWhenTheEpochForms) {
  Process a = harness_.Attached("n0");
  Process b = harness_.Attached("n1");
  Join(a, {{"NCCL", "2.28.9"}});
  EXPECT_THAT(Oddities(), IsEmpty());
  Join(b, {{"NCCL", "2.27.3"}});
  const auto expected = HasSubstr("rank 1 (node 'n1') has NCCL 2.27.3");
  EXPECT_THAT(Oddities(), ElementsAre(expected));
  EXPECT_THAT(harness_.log(), Contains(Field(&LogLine::text, expected)));
}

TEST_F(FingerprintTest, ClockSkewIsMeasuredAtTheJoin) {
  Process a = harness_.Attached("n0");
  Process b = harness_.Attached("n1");
  Join(a, {});
  harness_.Advance(absl::Seconds(30));  // the first one's answer comes late; its clock is right
  Join(b, {});
  EXPECT_THAT(Oddities(), IsEmpty());
}

TEST_F(FingerprintTest, AnOversizedFingerprintIsRefused) {
  Process a = harness_.Attached("n0");
  const WaiterId id = Join(a, {{"NCCL_ALGO", std::string(600, 'x')}});
  EXPECT_THAT(harness_.StatusOf(id).ToString(),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("fact 'NCCL_ALGO'")));
}

}  // namespace
}  // namespace muster::core
