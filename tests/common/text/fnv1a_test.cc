// Tests of the FNV-1a hash.
#include "common/text/fnv1a.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace muster {
namespace {

// Test vectors of the algorithm's authors (draft-eastlake-fnv, test_fnv.c). Processes of other
// versions rely on the same hash.
TEST(Fnv1aTest, MatchesPublishedHashes) {
  EXPECT_EQ(Fnv1a32(""), 0x811c9dc5u);
  EXPECT_EQ(Fnv1a32("a"), 0xe40c292cu);
  EXPECT_EQ(Fnv1a32("foobar"), 0xbf9cf968u);
  EXPECT_EQ(Fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(Fnv1a64("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(Fnv1a64("foobar"), 0x85944171f73967e8u);
}

TEST(Fnv1aTest, TreatsBytesAsUnsigned) {
  EXPECT_EQ(Fnv1a32("\xff"), (0x811c9dc5u ^ 0xffu) * 0x01000193u);
  const uint64_t numbers[] = {1, 2};
  EXPECT_EQ(Fnv1a64(numbers, sizeof numbers),
            Fnv1a64(std::string("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16)));
}

}  // namespace
}  // namespace muster
