// Tests of how messages name collectives and their groups.
#include "common/operation_words.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(OperationWordsTest, NameKindLabelRootTypeAndSize) {
  EXPECT_EQ(DescribeCollective({"Barrier", "epoch 1", std::nullopt, "", std::nullopt}),
            "Barrier('epoch 1')");
  EXPECT_EQ(DescribeCollective({"Gather", "", 2, "int32", std::nullopt}), "Gather(root 2, int32)");
  EXPECT_EQ(DescribeCollective({"AllGather", "", std::nullopt, "", 4}), "AllGather(4 bytes)");
}

TEST(OperationWordsTest, ACallOfTheProgramStandsInPlaceOfTheKind) {
  EXPECT_EQ(DescribeCollective({"AllGather", "", std::nullopt, CallName("Split"), std::nullopt}),
            "Split()");
  EXPECT_EQ(
      DescribeCollective({"AllGather", "", std::nullopt, CallName("AllReduce", "sum of int32"), 4}),
      "AllReduce(sum of int32, 4 bytes)");
  EXPECT_EQ(DescribeCollective({"Broadcast", "", 0, CallName("RunOnRank", "rank 2"), std::nullopt}),
            "RunOnRank(rank 2)");
}

TEST(OperationWordsTest, OtherTypeNamesAreTypes) {
  for (const char* type :
       {"struct of 8 bytes", "vector<int32>", "my type (v2)", "(odd)", "f(x) "}) {
    EXPECT_EQ(DescribeCollective({"AllGather", "", std::nullopt, type, std::nullopt}),
              std::string("AllGather(") + type + ")");
  }
}

TEST(OperationWordsTest, AStepHasTheNumberThatTheProgramCounts) {
  EXPECT_EQ(DescribeStep("Barrier()", 3, "the world"), "Barrier() op 3 of the world");
  EXPECT_EQ(DescribeStep("Barrier()", 3, "group 'tp' (ranks 0-1)"),
            "Barrier() op 3 of group 'tp' (ranks 0-1)");
}

TEST(OperationWordsTest, AGroupOfTheSdksOwnStandsForTheOneThatTheProgramKnows) {
  EXPECT_EQ(NameOfUse("", 0), "world (use 0)");
  EXPECT_EQ(WithoutUse(NameOfUse("tp", 12)), "tp");
  EXPECT_EQ(WithoutUse("tp (use it)"), "tp (use it)");
  EXPECT_EQ(WithoutUse("tp (use )"), "tp (use )");
  EXPECT_EQ(DescribeStep("Communicator::Create()", 0, "group 'world (use 0)' (ranks 0-3)"),
            "Communicator::Create() of the world");
  EXPECT_EQ(DescribeStep("Communicator::Create()", 0, "group 'tp (use 2)' (ranks 0-1)"),
            "Communicator::Create() of group 'tp' (ranks 0-1)");
  EXPECT_EQ(ProgramsGroup("group 'tp (use 2)'"), "group 'tp'");
}

}  // namespace
}  // namespace muster
