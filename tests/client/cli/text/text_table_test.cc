// Tests of tables for terminals: widths, wide characters, control characters.
#include "client/cli/text/text_table.h"

#include "client/cli/text/display_width.h"
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

TEST(TextTableTest, WrapsTheWidestColumns) {
  TextTable table({"RANK", "NODE", "ACTIVITY"});
  table.AddRow({"0", "vm/28ab3884-b20c-42a8", "in Barrier('a') op 12 of the world"});
  table.AddRow({"10", "n1", "none"});
  EXPECT_EQ(table.ToString(38),
            "RANK  NODE             ACTIVITY\n"
            "0     vm/28ab3884-     in Barrier('a')\n"
            "      b20c-42a8        op 12 of the\n"
            "                       world\n"
            "10    n1               none\n");
  EXPECT_EQ(table.ToString(80), table.ToString()) << "it fits";
}

TEST(TextTableTest, TextWithoutBreakPointsWrapsAnywhere) {
  TextTable table({"A"});
  table.AddRow({"abcdefghijkl"});
  table.AddRow({"日本語日本語"});
  EXPECT_EQ(table.ToString(9), "A\nabcdefghi\njkl\n日本語日\n本語\n");
}

TEST(DisplayWidthTest, WideAndCombiningCharacters) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("node"), 4);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1) << "a combining accent";
  EXPECT_EQ(DisplayWidth("한"), 2);
  EXPECT_EQ(DisplayWidth("🚀"), 2);
}

}  // namespace
}  // namespace muster::cli
