#include "common/names/store_waits.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(StoreWaitsTest, NamesTheClientsThatWait) {
  EXPECT_EQ(DescribeStoreClients({7}, {}, 0), "rank 7 has waited");
  EXPECT_EQ(DescribeStoreClients({}, {"n1"}, 0), "the launcher of n1 has waited");
  EXPECT_EQ(DescribeStoreClients({}, {}, 1), "a process without a rank has waited");
  EXPECT_EQ(DescribeStoreClients({0, 1, 2, 5}, {"n1", "n2"}, 3),
            "ranks 0-2,5 and the launchers of n1, n2 and 3 processes without a rank have waited");
}

TEST(StoreWaitsTest, NamesFourLaunchers) {
  EXPECT_EQ(DescribeStoreClients({}, {"a", "b", "c", "d", "e", "f"}, 0),
            "the launchers of a, b, c, d, 2 more have waited");
}

TEST(StoreWaitsTest, NamesTheMissingKey) {
  EXPECT_EQ(DescribeWaitInStore("key 'a' has not been set"),
            "the store (key 'a' has not been set)");
}

}  // namespace
}  // namespace muster
