// Tests of the check for valid UTF-8.
#include "common/text/utf8.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(Utf8Test, RejectsInvalidUtf8) {
  EXPECT_EQ(ReplaceUnprintable("a\xff"), "a?");
  EXPECT_EQ(ReplaceUnprintable("\xc0\x80"), "??") << "an overlong zero";
  EXPECT_EQ(ReplaceUnprintable("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(ReplaceUnprintable("\xf4\x90\x80\x80"), "????") << "beyond Unicode";
  EXPECT_EQ(ReplaceUnprintable("\xe6\x97"), "??") << "cut short";
  EXPECT_EQ(ReplaceUnprintable("\xc2\x85"), "?") << "a control character of Latin-1";
  EXPECT_EQ(ReplaceUnprintable("日本 ok"), "日本 ok");
}

}  // namespace
}  // namespace muster
