// Tests of how messages name collectives and their groups.
#include "common/names/operation_names.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(OperationNamesTest, DescribesKindLabelRootTypeAndSize) {
  EXPECT_EQ(DescribeCollective({"Barrier", "epoch 1", std::nullopt, "", std::nullopt}),
            "Barrier('epoch 1')");
  EXPECT_EQ(DescribeCollective({"Gather", "", 2, "int32", std::nullopt}), "Gather(root 2, int32)");
  EXPECT_EQ(DescribeCollective({"AllGather", "", std::nullopt, "", 4}), "AllGather(4 bytes)");
}

TEST(OperationNamesTest, ProgramCallReplacesTheKind) {
  EXPECT_EQ(
      DescribeCollective({"AllGather", "", std::nullopt, CallTypeName("Split"), std::nullopt}),
      "Split()");
  EXPECT_EQ(DescribeCollective(
                {"AllGather", "", std::nullopt, CallTypeName("AllReduce", "sum of int32"), 4}),
            "AllReduce(sum of int32, 4 bytes)");
  EXPECT_EQ(
      DescribeCollective({"Broadcast", "", 0, CallTypeName("RunOnRank", "rank 2"), std::nullopt}),
      "RunOnRank(rank 2)");
}

TEST(OperationNamesTest, OtherTypeNamesAreShownAsTypes) {
  for (const char* type :
       {"struct of 8 bytes", "vector<int32>", "my type (v2)", "(odd)", "f(x) "}) {
    EXPECT_EQ(DescribeCollective({"AllGather", "", std::nullopt, type, std::nullopt}),
              std::string("AllGather(") + type + ")");
  }
}

TEST(OperationNamesTest, ShowsOnlyNumbersThatTheProgramCounts) {
  EXPECT_EQ(DescribeStep("Barrier()", 3, "the world"), "Barrier() op 3 of the world");
  EXPECT_EQ(DescribeStep("Barrier()", 3, "group 'tp' (ranks 0-1)"),
            "Barrier() op 3 of group 'tp' (ranks 0-1)");
}

TEST(OperationNamesTest, InternalGroupIsShownAsTheProgramsGroup) {
  EXPECT_EQ(InternalGroupName("", 0), "world (use 0)");
  EXPECT_EQ(ProgramGroupName(InternalGroupName("tp", 12)), "tp");
  EXPECT_EQ(ProgramGroupName("tp (use it)"), "tp (use it)");
  EXPECT_EQ(ProgramGroupName("tp (use )"), "tp (use )");
  EXPECT_EQ(DescribeStep("Communicator::Create()", 0, "group 'world (use 0)' (ranks 0-3)"),
            "Communicator::Create() of the world");
  EXPECT_EQ(DescribeStep("Communicator::Create()", 0, "group 'tp (use 2)' (ranks 0-1)"),
            "Communicator::Create() of group 'tp' (ranks 0-1)");
  EXPECT_EQ(ProgramGroupText("group 'tp (use 2)'"), "group 'tp'");
}

}  // namespace
}  // namespace muster
