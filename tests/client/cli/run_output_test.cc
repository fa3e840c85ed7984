// `muster run`: what the ranks are given and what becomes of their output.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/muster_command.h"

namespace muster::cli {
namespace {

using muster::testing::Exit;
using muster::testing::MakeTempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Exit kSuccess = {false, 0};

std::string OutputOf(const std::vector<std::string>& arguments) {
  MusterCommand muster(arguments);
  EXPECT_EQ(muster.process().Wait(), kSuccess) << muster.process().Output();
  return muster.process().Output();
}

TEST(RunOutputTest, EachLineHasItsRank) {
  EXPECT_THAT(SortedLines(OutputOf(
                  RunShell({"--nproc-per-node", "3"}, "echo out; echo err >&2; printf unended"))),
              ElementsAre("[0] err", "[0] out", "[0] unended", "[1] err", "[1] out", "[1] unended",
                          "[2] err", "[2] out", "[2] unended"));
}

TEST(RunOutputTest, PrefixesCanBeSwitchedOff) {
  EXPECT_THAT(
      SortedLines(OutputOf(RunShell({"--nproc-per-node=2", "--no-prefix"}, "echo rank $RANK"))),
      ElementsAre("rank 0", "rank 1"));
}

TEST(RunOutputTest, AnyBytesComeThrough) {
  EXPECT_EQ(OutputOf(RunShell({}, R"(printf 'a\000\377\rb\n')")),
            std::string("[0] a\0\377\rb\n", 10));
}

TEST(RunOutputTest, NoLineIsLostOrTorn) {
  constexpr int kLines = 20000;
  const std::string output = OutputOf(
      RunShell({"--nproc-per-node", "4"}, absl::StrCat("seq -f 'line-%.0f-end' ", kLines)));
  std::vector<int> seen(4);
  for (absl::string_view line : absl::StrSplit(output, '\n', absl::SkipEmpty())) {
    ASSERT_GT(line.size(), 4u) << line;
    const int rank = line[1] - '0';
    ASSERT_TRUE(rank >= 0 && rank < 4) << line;
    ASSERT_EQ(line, absl::StrCat("[", rank, "] line-", ++seen[rank], "-end"));
  }
  EXPECT_THAT(seen, ElementsAre(kLines, kLines, kLines, kLines));
}

TEST(RunOutputTest, OutputOfGrandchildrenThatOutliveTheRankCounts) {
  EXPECT_EQ(OutputOf(RunShell({}, "printf begun; (sleep 300; echo never) &")), "[0] begun\n");
}

TEST(RunOutputTest, LogFilesHoldTheUnchangedOutput) {
  const std::string directory = MakeTempDir() + "/made/here";
  const std::string output = OutputOf(RunShell({"--nproc-per-node", "2", "--log-dir", directory},
                                               "echo out $RANK; printf err >&2"));
  EXPECT_THAT(SortedLines(output), ElementsAre("[0] err", "[0] out 0", "[1] err", "[1] out 1"));
  for (int rank = 0; rank < 2; ++rank) {
    const std::string log = ReadFile(absl::StrCat(directory, "/rank-", rank, ".log"));
    EXPECT_THAT(log, HasSubstr(absl::StrCat("out ", rank, "\n")));
    EXPECT_THAT(log, HasSubstr("err"));
    EXPECT_EQ(log.size(), std::string("out 0\nerr").size());
  }
}

TEST(RunOutputTest, LogFilesAreOverwrittenAndNamedByGlobalRank) {
  const std::string directory = MakeTempDir();
  const std::string log = directory + "/rank-3.log";
  std::ofstream(log) << "of an earlier run, longer than the new one\n";
  OutputOf(RunShell({"--nnodes=2", "--node-rank=1", "--nproc-per-node=2", "--coordinator",
                     "127.0.0.1:9", "--log-dir", directory},
                    "echo new"));
  EXPECT_EQ(ReadFile(log), "new\n");
}

TEST(RunOutputTest, ALogDirectoryThatCannotBeIsAnErrorBeforeAnythingStarts) {
  const std::string file = MakeTempDir() + "/file";
  std::ofstream(file) << "x";
  MusterCommand muster(RunShell({"--log-dir", file + "/logs"}, "echo started"));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(SortedLines(muster.process().Output()),
              ElementsAre(HasSubstr("muster: --log-dir: cannot make")));
}

TEST(RunOutputTest, ALogFileThatCannotBeWrittenIsSaidOnce) {
  const std::string directory = MakeTempDir();
  ASSERT_EQ(symlink("/dev/full", (directory + "/rank-0.log").c_str()), 0);
  EXPECT_THAT(
      SortedLines(OutputOf(RunShell({"--log-dir", directory}, "echo 1; sleep 0.01; echo 2"))),
      ElementsAre("[0] 1", "[0] 2", HasSubstr("rank-0.log: No space left on device")));
}

TEST(RunOutputTest, StandardInputIsEmpty) {
  EXPECT_THAT(OutputOf({"run", "--", "cat"}), IsEmpty());
}

TEST(RunOutputTest, RanksFindTheirPlaceInTheEnvironment) {
  const std::string output = OutputOf(
      RunShell({"--nproc-per-node=2", "--node-id=n7", "--job=digits", "--master-port=29500"},
               "echo $MUSTER_RANK/$MUSTER_WORLD_SIZE $MUSTER_LOCAL_RANK $MUSTER_NODE_RANK "
               "$MUSTER_NODE_ID $MUSTER_JOB $MUSTER_COORDINATOR $RANK/$WORLD_SIZE "
               "$LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR:$MASTER_PORT"));
  EXPECT_THAT(SortedLines(output),
              ElementsAre("[0] 0/2 0 0 n7 digits 127.0.0.1:9 0/2 0/2 0 127.0.0.1:29500",
                          "[1] 1/2 1 0 n7 digits 127.0.0.1:9 1/2 1/2 0 127.0.0.1:29500"));
}

TEST(RunOutputTest, EveryStartOfAProcessHasItsOwnIncarnation) {
  const std::string output =
      OutputOf(RunShell({"--nproc-per-node=2", "--no-prefix"}, "echo $MUSTER_INCARNATION"));
  const std::vector<std::string> lines = SortedLines(output);
  ASSERT_THAT(lines, ElementsAre(SizeIs(32), SizeIs(32)));
  EXPECT_NE(lines[0], lines[1]);
}

TEST(RunOutputTest, TheProgramsOwnFlagsAreItsOwn) {
  EXPECT_EQ(OutputOf({"run", "--", "echo", "--nproc-per-node", "7", "--", "--help"}),
            "[0] --nproc-per-node 7 -- --help\n");
}

// `muster run` writing to a fifo that the test holds open and does not read.
class StoppedReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string fifo = MakeTempDir() + "/fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    reader_ = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader_, 0);
    muster_ = MusterCommand::Wrapped({"sh", "-c", "exec \"$MUSTER\" run -- yes >\"$0\"", fifo});
    ASSERT_TRUE(muster_->WaitForProcesses("yes", 1));
  }
  void TearDown() override { close(reader_); }

  int reader_ = -1;
  std::unique_ptr<MusterCommand> muster_;
};

TEST_F(StoppedReaderTest, DoesNotHoldAUserWhoWantsToLeave) {
  muster_->process().Signal(SIGTERM);
  ASSERT_TRUE(WaitUntil([this] { return muster_->ProcessesRunning("yes").empty(); }));
  muster_->process().Signal(SIGINT);
  EXPECT_EQ(muster_->process().Wait(), (Exit{false, 128 + SIGTERM}));
  EXPECT_TRUE(muster_->WaitForNone());
}

TEST_F(StoppedReaderTest, DoesNotKeepAnythingAliveWhenTheLauncherIsKilled) {
  muster_->process().Signal(SIGKILL);
  muster_->process().Wait();
  EXPECT_TRUE(muster_->WaitForNone());
}

TEST_F(StoppedReaderTest, ThatGoesDoesNotEndTheRun) {
  close(reader_);
  reader_ = -1;
  EXPECT_TRUE(muster_->process().WaitForOutput("cannot write to standard output: Broken pipe"));
  EXPECT_TRUE(muster_->process().Running());
}

}  // namespace
}  // namespace muster::cli
