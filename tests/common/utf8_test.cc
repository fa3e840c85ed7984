// Tests of the check for valid UTF-8.
#include "common/utf8.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(Utf8Test, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(Printable("a\xff"), "a?");
  EXPECT_EQ(Printable("\xc0\x80"), "??") << "an overlong zero";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "????") << "beyond Unicode";
  EXPECT_EQ(Printable("\xe6\x97"), "??") << "cut short";
  EXPECT_EQ(Printable("\xc2\x85"), "?") << "a control character of Latin-1";
  EXPECT_EQ(Printable("日本 ok"), "日本 ok");
}

}  // namespace
}  // namespace muster
