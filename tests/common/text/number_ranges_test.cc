// Tests of lists of numbers as text.
#include "common/text/number_ranges.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

using ::testing::IsEmpty;

TEST(NumberRangesTest, AreReadAsTheyAreWritten) {
  const std::vector<int> numbers = {0, 1, 3, 8, 9, 10};
  EXPECT_EQ(NumberRanges(numbers), "0-1,3,8-10");
  EXPECT_EQ(ParseNumberRanges("0-1,3,8-10"), numbers);
  EXPECT_EQ(ParseNumberRanges("0-1,3,8-10,..."), numbers) << "a text that leaves out the rest";
  EXPECT_EQ(NumberRanges(std::vector<int>()), "");
}

TEST(NumberRangesTest, LeavesOutWhatIsTooLong) {
  const std::vector<uint32_t> numbers = {0, 1, 3, 8, 9, 10};
  EXPECT_EQ(NumberRanges(numbers, 3), "0-1,3,8-10");
  EXPECT_EQ(NumberRanges(numbers, 2), "0-1,3,...");
}

TEST(NumberRangesTest, RefusesMalformedTexts) {
  for (const char* text : {"", ",", "...", "1,", "1,,2", "2,1", "1,1", "3-1", "-1", "1--2", "+1",
                           " 1", "1-2-3", "x", "0-1000000", "0-2147483647", "99999999999"}) {
    EXPECT_THAT(ParseNumberRanges(text), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace muster
