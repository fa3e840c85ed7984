// Tests of how the launcher mixes the lines of its ranks' output.
#include "client/cli/run/line_multiplexer.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

constexpr bool kEndLine = true;

// A multiplexer with one stream.
struct OneStream {
  explicit OneStream(const std::string& prefix) : id(lines.AddStream(prefix)) {}
  std::string Feed(absl::string_view chunk) { return lines.Feed(id, chunk); }
  std::string Finish(bool end_line = kEndLine) { return lines.Finish(id, end_line); }
  LineMultiplexer lines;
  int id;
};

TEST(LineMultiplexerTest, PrefixesWholeLines) {
  OneStream rank("[3] ");
  EXPECT_EQ(rank.Feed("a\n\nb\n"), "[3] a\n[3] \n[3] b\n");
  EXPECT_EQ(rank.Finish(), "");
}

TEST(LineMultiplexerTest, BuffersAPartialLine) {
  OneStream rank("[0] ");
  EXPECT_EQ(rank.Feed("be"), "");
  EXPECT_EQ(rank.Feed("gun\nnext"), "[0] begun\n");
  EXPECT_EQ(rank.Finish(), "[0] next\n");
}

TEST(LineMultiplexerTest, FinishMayLeaveALineUnended) {
  OneStream rank("");
  EXPECT_EQ(rank.Feed("begun"), "");
  EXPECT_EQ(rank.Finish(!kEndLine), "begun");
  EXPECT_EQ(rank.lines.Feed(rank.lines.AddStream(""), "next\n"), "\nnext\n");
}

TEST(LineMultiplexerTest, PassesAnyBytes) {
  const std::string bytes("\r\0\xff\rx\x01\r\n\r\n", 10);
  OneStream rank("");
  EXPECT_EQ(rank.Feed(bytes), bytes);
}

TEST(LineMultiplexerTest, CutsEndlessLines) {
  OneStream rank("> ");
  const std::string piece(LineMultiplexer::kMaxLineBytes, 'x');
  EXPECT_EQ(rank.Feed(piece), "");
  EXPECT_EQ(rank.Feed("y"), absl::StrCat("> ", piece, "\n"));
  EXPECT_EQ(rank.Feed(absl::StrCat(piece, piece)),
            absl::StrCat("> y", piece.substr(1), "\n> ", piece, "\n"));
  EXPECT_EQ(rank.Finish(), "> x\n");
}

TEST(LineMultiplexerTest, LosesNothingForAnyChunking) {
  const std::string text = "one\ntwo\r\n\n\r10%\r20%\nthree";
  for (size_t step = 1; step <= text.size(); ++step) {
    OneStream rank("-");
    std::string result;
    for (size_t i = 0; i < text.size(); i += step) result += rank.Feed(text.substr(i, step));
    EXPECT_EQ(result + rank.Finish(), "-one\n-two\r\n-\n\r-10%\r-20%\n-three\n")
        << "in steps of " << step;
  }
}

// ---- Lines that arrive in parts ----

TEST(PartialLineTest, IsShownOnceAndContinues) {
  OneStream rank("[0] ");
  EXPECT_FALSE(rank.lines.HasPartialLine(rank.id));
  EXPECT_EQ(rank.Feed("name? "), "");
  EXPECT_TRUE(rank.lines.HasPartialLine(rank.id));
  EXPECT_EQ(rank.lines.ShowPartialLine(rank.id), "[0] name? ");
  EXPECT_FALSE(rank.lines.HasPartialLine(rank.id));
  EXPECT_EQ(rank.lines.ShowPartialLine(rank.id), "");
  EXPECT_EQ(rank.Feed("Ada"), "");
  EXPECT_EQ(rank.lines.ShowPartialLine(rank.id), "Ada");
  EXPECT_EQ(rank.Feed("\nnext\n"), "\n[0] next\n");
  EXPECT_EQ(rank.Finish(), "");
}

TEST(PartialLineTest, IsRepeatedWholeAfterALineOfAnotherStream) {
  LineMultiplexer lines;
  const int first = lines.AddStream("[0] ");
  const int second = lines.AddStream("[1] ");
  EXPECT_EQ(lines.Feed(first, "one, "), "");
  EXPECT_EQ(lines.ShowPartialLine(first), "[0] one, ");
  EXPECT_EQ(lines.Feed(second, "hello\n"), "\n[1] hello\n");
  EXPECT_EQ(lines.Feed(first, "two\n"), "[0] one, two\n");
}

TEST(PartialLineTest, NeedsNoNewlineIfAnotherStreamHasEndedIt) {
  LineMultiplexer lines;
  const int first = lines.AddStream("[0] ");
  const int second = lines.AddStream("[1] ");
  lines.Feed(first, "one");
  EXPECT_EQ(lines.ShowPartialLine(first), "[0] one");
  EXPECT_EQ(lines.Feed(second, "hello\n"), "\n[1] hello\n");
  EXPECT_EQ(lines.Feed(first, "\n\n"), "[0] \n");
  lines.Feed(second, "two");
  EXPECT_EQ(lines.ShowPartialLine(second), "[1] two");
  EXPECT_EQ(lines.Feed(first, "hello\n"), "\n[0] hello\n");
  EXPECT_EQ(lines.Finish(second, kEndLine), "");
}

TEST(PartialLineTest, MayBecomeAProgressBar) {
  OneStream rank("[0] ");
  rank.Feed("10%");
  EXPECT_EQ(rank.lines.ShowPartialLine(rank.id), "[0] 10%");
  EXPECT_EQ(rank.Feed("\r20%"), "\r[0] 20%");
  EXPECT_EQ(rank.Feed("\n"), "\n");
}

// ---- Progress bars ----

TEST(ProgressBarTest, IsShownAtOnceWithLeadingOrTrailingReturn) {
  OneStream before("[0] ");
  EXPECT_EQ(before.Feed("\r10%"), "\r[0] 10%");
  EXPECT_EQ(before.Feed("\r20"), "\r[0] 20");
  EXPECT_EQ(before.Feed("%"), "%");
  EXPECT_EQ(before.Feed("\ndone\n"), "\n[0] done\n");
  OneStream after("[0] ");
  EXPECT_EQ(after.Feed("10%\r"), "[0] 10%\r");
  EXPECT_EQ(after.Feed("20%\r"), "[0] 20%\r");
  EXPECT_EQ(after.Feed("done\n"), "[0] done\n");
}

TEST(ProgressBarTest, ALineOfAnotherStreamEndsIt) {
  LineMultiplexer lines;
  const int bar = lines.AddStream("[0] ");
  const int other = lines.AddStream("[1] ");
  EXPECT_EQ(lines.Feed(bar, "\r10%"), "\r[0] 10%");
  EXPECT_EQ(lines.Feed(other, "hello\n"), "\n[1] hello\n");
  EXPECT_EQ(lines.Feed(bar, "\r20%"), "[0] 20%");
  EXPECT_EQ(lines.Feed(other, "hello\n"), "\n[1] hello\n");
  EXPECT_EQ(lines.Feed(bar, "\n"), "") << "it has been ended";
  EXPECT_EQ(lines.Feed(bar, "10%\r"), "[0] 10%\r");
  EXPECT_EQ(lines.Feed(other, "hello\n"), "\n[1] hello\n");
}

TEST(ProgressBarTest, ABarOfAnotherStreamReplacesIt) {
  LineMultiplexer lines;
  const int first = lines.AddStream("[0] ");
  const int second = lines.AddStream("[1] ");
  EXPECT_EQ(lines.Feed(first, "\r10%"), "\r[0] 10%");
  EXPECT_EQ(lines.Feed(second, "\r12%"), "\r[1] 12%");
  EXPECT_EQ(lines.Feed(first, "\r100%"), "\r[0] 100%");
  EXPECT_EQ(lines.Feed(second, "\r100%"), "\r[1] 100%");
  EXPECT_EQ(lines.Feed(first, "\n"), "\r[0] 100%\n") << "it was not to be seen any more";
  EXPECT_EQ(lines.Feed(second, "\n"), "[1] 100%\n");
}

TEST(ProgressBarTest, FinishEndsItAsALine) {
  OneStream shown("[0] ");
  EXPECT_EQ(shown.Feed("\r10%"), "\r[0] 10%");
  EXPECT_EQ(shown.Finish(), "\n");
  OneStream returned("[0] ");
  EXPECT_EQ(returned.Feed("10%\r"), "[0] 10%\r");
  EXPECT_EQ(returned.Finish(), "\n");
}

}  // namespace
}  // namespace muster::cli
