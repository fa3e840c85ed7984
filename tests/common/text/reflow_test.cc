// Tests of breaking help texts into lines.
#include "common/text/reflow.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(ReflowTest, RewrapsParagraphs) {
  EXPECT_EQ(Reflow("one two\nthree four five", 13), "one two three\nfour five");
  EXPECT_EQ(Reflow("one\n\ntwo\nthree\n", 80), "one\n\ntwo three\n");
  EXPECT_EQ(Reflow("", 80), "");
}

TEST(ReflowTest, KeepsLinesThatBeginWithASpace) {
  EXPECT_EQ(Reflow("For example:\n  run   this --with=that\nand so on", 12),
            "For example:\n  run   this --with=that\nand so on");
}

TEST(ReflowTest, LongWordGetsItsOwnLine) {
  EXPECT_EQ(Reflow("a verylongword b", 5), "a\nverylongword\nb");
}

}  // namespace
}  // namespace muster
