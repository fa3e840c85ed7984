#include "client/cli/text_table.h"

#include "client/cli/utf8.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

TEST(TextTableTest, AlignsColumns) {
  TextTable table({"RANK", "NODE", "STATE"});
  EXPECT_TRUE(table.empty());
  table.AddRow({"0", "a-long-name", "running"});
  table.AddRow({"10", "b", "lost"});
  EXPECT_FALSE(table.empty());
  EXPECT_EQ(table.ToString(),
            "RANK  NODE         STATE\n"
            "0     a-long-name  running\n"
            "10    b            lost\n");
}

TEST(TextTableTest, CountsColumnsNotBytes) {
  TextTable table({"A", "B"});
  table.AddRow({"é", "1"});
  table.AddRow({"日本", "2"});
  EXPECT_EQ(table.ToString(),
            "A     B\n"
            "é     1\n"
            "日本  2\n");
}

TEST(TextTableTest, DefusesControlCharacters) {
  TextTable table({"A"});
  table.AddRow({"x\033[2J\ny"});
  EXPECT_EQ(table.ToString(), "A\nx?[2J?y\n");
}

TEST(Utf8Test, Widths) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("node"), 4);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1) << "a combining accent";
  EXPECT_EQ(DisplayWidth("한"), 2);
  EXPECT_EQ(DisplayWidth("🚀"), 2);
}

TEST(Utf8Test, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(Printable("a\xff"), "a?");
  EXPECT_EQ(Printable("\xc0\x80"), "??") << "an overlong zero";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(Printable("\xe6\x97"), "??") << "cut short";
  EXPECT_EQ(Printable("\xc2\x85"), "?") << "a control character of Latin-1";
  EXPECT_EQ(Printable("日本 ok"), "日本 ok");
}

}  // namespace
}  // namespace muster::cli
