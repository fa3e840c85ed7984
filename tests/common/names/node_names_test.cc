// Tests of how messages name nodes.
#include "common/names/node_names.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

constexpr char kVm[] = "vm/58b986b6-87fa-4517-80b6-85a31b2c8f77";
constexpr char kOtherVm[] = "vm/28ab3884-b20c-42a8-a433-36a317b35dbc";
constexpr char kSimilarVm[] = "vm/58b986b7-87fa-4517-80b6-85a31b2c8f77";

TEST(NodeNamesTest, GeneratedIdIsShownAsHost) {
  NodeNames names;
  names.Add(kVm);
  names.Add(kVm);
  names.Add("n1");
  names.Add(MakeNodeId("vm2", "28ab3884-b20c-42a8-a433-36a317b35dbc"));
  EXPECT_EQ(names.NameOf(kVm), "vm");
  EXPECT_EQ(names.Describe(kVm), "host vm");
  EXPECT_EQ(names.DescribeWithHost(kVm, "vm"), "host vm");
  EXPECT_EQ(NodeNames().Describe(MakeNodeId("vm", "")), "host vm");
}

TEST(NodeNamesTest, GivenIdIsShownUnchanged) {
  const NodeNames names;
  EXPECT_EQ(names.NameOf("n1"), "n1");
  EXPECT_EQ(names.Describe("n1"), "node 'n1'");
  EXPECT_EQ(names.DescribeWithHost("n1", "vm"), "node 'n1', host vm");
  EXPECT_EQ(names.DescribeWithHost("n1", ""), "node 'n1', host unknown");
  EXPECT_EQ(names.DescribeWithHost("gpu-17", "gpu-17"), "host gpu-17");
  EXPECT_EQ(names.Describe("ip-10-0-0-1/3"), "node 'ip-10-0-0-1/3'");
  EXPECT_EQ(names.Describe("/58b986b6-87fa-4517-80b6-85a31b2c8f77"),
            "node '/58b986b6-87fa-4517-80b6-85a31b2c8f77'");
}

TEST(NodeNamesTest, BootIdTellsHostsOfOneNameApart) {
  NodeNames names;
  names.Add(kVm);
  names.Add(kOtherVm);
  EXPECT_EQ(names.NameOf(kVm), "vm/58b9");
  EXPECT_EQ(names.Describe(kOtherVm), "host vm/28ab");
  names.Add(kSimilarVm);
  EXPECT_EQ(names.NameOf(kVm), "vm/58b986b6");
  EXPECT_EQ(names.NameOf(kSimilarVm), "vm/58b986b7");
  EXPECT_EQ(names.NameOf(kOtherVm), "vm/28ab");
  names.Remove(kSimilarVm);
  names.Remove(kOtherVm);
  EXPECT_EQ(names.NameOf(kVm), "vm");
}

TEST(NodeNamesTest, CountsTheMembersOfANode) {
  NodeNames names;
  names.Add(kVm);
  names.Add(kOtherVm);
  names.Add(kOtherVm);
  names.Remove(kOtherVm);
  EXPECT_EQ(names.NameOf(kVm), "vm/58b9");
  names.Remove(kOtherVm);
  names.Remove(kOtherVm);
  EXPECT_EQ(names.NameOf(kVm), "vm");
}

TEST(NodeNamesTest, UnknownIdIsComparedWithAddedIds) {
  NodeNames names;
  names.Add(kVm);
  EXPECT_EQ(names.NameOf(kOtherVm), "vm/28ab");
}

// A launcher without a node id uses the host's name.
TEST(NodeNamesTest, LauncherNodeIsAHostIfAMemberRunsThere) {
  NodeNames names;
  EXPECT_EQ(names.DescribeLauncherNode("vm"), "node 'vm'");
  names.Add(kVm);
  EXPECT_EQ(names.DescribeLauncherNode("vm"), "host vm");
  EXPECT_EQ(names.DescribeLauncherNode("n1"), "node 'n1'");
}

}  // namespace
}  // namespace muster
