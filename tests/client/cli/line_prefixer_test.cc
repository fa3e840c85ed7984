#include "client/cli/line_prefixer.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

TEST(LinePrefixerTest, PrefixesWholeLines) {
  LinePrefixer lines("[3] ");
  EXPECT_EQ(lines.Feed("a\n\nb\n"), "[3] a\n[3] \n[3] b\n");
  EXPECT_EQ(lines.Finish(), "");
}

TEST(LinePrefixerTest, KeepsWhatIsBegunUntilItEnds) {
  LinePrefixer lines("[0] ");
  EXPECT_EQ(lines.Feed("be"), "");
  EXPECT_EQ(lines.Feed("gun\nnext"), "[0] begun\n");
  EXPECT_EQ(lines.Finish(), "[0] next\n");
  EXPECT_EQ(lines.Finish(), "");
}

TEST(LinePrefixerTest, PassesAnyBytes) {
  const std::string bytes("\0\xff\r\x01", 4);
  LinePrefixer lines("");
  EXPECT_EQ(lines.Feed(bytes + "\n"), bytes + "\n");
}

TEST(LinePrefixerTest, CutsEndlessLines) {
  LinePrefixer lines("> ");
  const std::string piece(LinePrefixer::kMaxLineBytes, 'x');
  EXPECT_EQ(lines.Feed(piece), "");
  EXPECT_EQ(lines.Feed("y"), absl::StrCat("> ", piece, "\n"));
  EXPECT_EQ(lines.Feed(absl::StrCat(piece, piece)),
            absl::StrCat("> y", piece.substr(1), "\n> ", piece, "\n"));
  EXPECT_EQ(lines.Finish(), "> x\n");
}

TEST(LinePrefixerTest, LosesNothingHoweverTheBytesCome) {
  const std::string text = "one\ntwo\n\nthree";
  for (size_t step = 1; step <= text.size(); ++step) {
    LinePrefixer lines("-");
    std::string result;
    for (size_t i = 0; i < text.size(); i += step) result += lines.Feed(text.substr(i, step));
    EXPECT_EQ(result + lines.Finish(), "-one\n-two\n-\n-three\n") << "in steps of " << step;
  }
}

}  // namespace
}  // namespace muster::cli
