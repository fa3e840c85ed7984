// Tests of numbered groups that are abandoned because their purpose has failed.
#include "client/src/group/numbered_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/util/fakes/fake_job.h"

namespace muster::internal {
namespace {

using ::muster::testing::FakeJob;

constexpr CallOptions kOptions = {absl::Seconds(60)};

// Returns the name of the next group that this rank and the others agree on.
std::string NameOfNext(const Group& world, bool keep) {
  auto numbered = AgreeOnNumberedGroup(world, "a test", kOptions);
  EXPECT_TRUE(numbered.ok()) << numbered.status();
  if (!numbered.ok()) return "";
  if (keep) numbered->Keep();
  return numbered->group().name();
}

TEST(NumberedGroupTest, IsReusedUntilARankHasFailedInIt) {
  FakeJob job(3);
  job.Run([](int rank, const Group& world) {
    const std::string first = NameOfNext(world, /*keep=*/true);
    EXPECT_EQ(NameOfNext(world, /*keep=*/true), first);
    // On one rank it fails. The other ranks learn of it by the next number.
    EXPECT_EQ(NameOfNext(world, /*keep=*/rank != 1), first);
    const std::string second = NameOfNext(world, /*keep=*/true);
    EXPECT_NE(second, first);
    EXPECT_EQ(NameOfNext(world, /*keep=*/true), second);
  });
}

TEST(NumberedGroupTest, HasTheRanksOfItsGroupAndANameThatFits) {
  FakeJob job(4);
  const std::string longest(256, 'x');
  job.RunRanks({3, 1}, [&](int rank, const Group&) {
    const Group part = job.group(rank, longest, {3, 1});
    auto numbered = AgreeOnNumberedGroup(part, "a test", kOptions);
    ASSERT_TRUE(numbered.ok()) << numbered.status();
    EXPECT_EQ(numbered->group().ranks(), part.ranks());
    EXPECT_EQ(numbered->group().rank(), part.rank());
    EXPECT_LE(numbered->group().name().size(), longest.size());
    EXPECT_NE(numbered->group().name(), longest);
  });
}

}  // namespace
}  // namespace muster::internal
