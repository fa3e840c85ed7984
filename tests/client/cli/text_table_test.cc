#include "client/cli/text_table.h"

#include "client/cli/display_width.h"
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

TEST(DisplayWidthTest, OfWideAndCombiningCharacters) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("node"), 4);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1) << "a combining accent";
  EXPECT_EQ(DisplayWidth("한"), 2);
  EXPECT_EQ(DisplayWidth("🚀"), 2);
}

}  // namespace
}  // namespace muster::cli
