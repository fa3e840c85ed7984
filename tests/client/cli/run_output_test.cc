// Tests of what `muster run` gives its ranks, and where their output goes.

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "absl/strings/match.h"
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
using ::testing::Pair;
using ::testing::SizeIs;

constexpr Exit kSuccess = {false, 0};

std::string OutputOf(const std::vector<std::string>& arguments) {
  MusterCommand muster(arguments);
  EXPECT_EQ(muster.process().Wait(), kSuccess) << muster.process().Output();
  return WithoutCoordinator(muster.process().Output());
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
  EXPECT_EQ(OutputOf(RunShell({}, R"(printf 'a\000\377\033b\n')")),
            std::string("[0] a\0\377\033b\n", 10));
}

TEST(RunOutputTest, NoLineIsLostOrTorn) {
  constexpr int kLines = 20000;
  const std::string output = OutputOf(
      RunShell({"--nproc-per-node", "4"}, absl::StrCat("seq -f 'line-%.0f-end' ", kLines)));
  std::vector<int> seen(4);
  for (absl::string_view line : absl::StrSplit(output, '\n', absl::SkipEmpty())) {
    ASSERT_GE(line.size(), 4u) << line;
    const int rank = line[1] - '0';
    ASSERT_TRUE(rank >= 0 && rank < 4) << line;
    const std::string expected = absl::StrCat("[", rank, "] line-", seen[rank] + 1, "-end");
    if (line == expected) ++seen[rank];
    // A part of a line, from a rank that was held up. The whole line follows.
    ASSERT_TRUE(absl::StartsWith(expected, line)) << line << " instead of " << expected;
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

TEST(RunOutputTest, AnUnusableDirectoryIsAnErrorBeforeAnythingStarts) {
  const std::string file = MakeTempDir() + "/file";
  std::ofstream(file) << "x";
  for (const std::string flag : {"--log-dir", "--debug-dir"}) {
    MusterCommand muster(RunShell({flag, file + "/below"}, "echo started"));
    EXPECT_EQ(muster.process().Wait(), (Exit{false, 1}));
    EXPECT_THAT(SortedLines(WithoutCoordinator(muster.process().Output())),
                ElementsAre(HasSubstr("muster: " + flag + ": cannot create")));
  }
}

TEST(RunOutputTest, AnUnwritableLogFileIsReportedOnce) {
  const std::string directory = MakeTempDir();
  ASSERT_EQ(symlink("/dev/full", (directory + "/rank-0.log").c_str()), 0);
  EXPECT_THAT(
      SortedLines(OutputOf(RunShell({"--log-dir", directory}, "echo 1; sleep 0.01; echo 2"))),
      ElementsAre("[0] 1", "[0] 2", HasSubstr("rank-0.log: No space left on device")));
}

TEST(RunOutputTest, StandardInputIsEmpty) {
  EXPECT_THAT(OutputOf({"run", "--", "cat"}), IsEmpty());
}

TEST(RunOutputTest, TheEnvironmentGivesRanksTheirPlace) {
  const std::string output = OutputOf(
      RunShell({"--nproc-per-node=2", "--node-id=n7", "--job=digits", "--master-port=29500"},
               "echo $MUSTER_RANK/$MUSTER_WORLD_SIZE $MUSTER_LOCAL_RANK $MUSTER_NODE_RANK "
               "$MUSTER_NODE_ID $MUSTER_JOB $MUSTER_COORDINATOR $RANK/$WORLD_SIZE "
               "$LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR:$MASTER_PORT"));
  EXPECT_THAT(SortedLines(output),
              ElementsAre("[0] 0/2 0 0 n7 digits 127.0.0.1:9 0/2 0/2 0 127.0.0.1:29500",
                          "[1] 1/2 1 0 n7 digits 127.0.0.1:9 1/2 1/2 0 127.0.0.1:29500"));
}

bool CanOpen(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return bound;
}

// Another process may take the port after the run. The next run gets another one.
TEST(RunOutputTest, MasterPortIsFree) {
  EXPECT_TRUE(WaitUntil([] {
    const std::string output =
        OutputOf(RunShell({"--nproc-per-node=2", "--no-prefix"}, "echo $MASTER_PORT"));
    const std::vector<std::string> ports = SortedLines(output);
    EXPECT_THAT(ports, SizeIs(2));
    EXPECT_EQ(ports.front(), ports.back());
    return CanOpen(std::stoi(ports.front()));
  }));
}

TEST(RunOutputTest, EveryStartOfAProcessHasItsOwnIncarnation) {
  const std::string output =
      OutputOf(RunShell({"--nproc-per-node=2", "--no-prefix"}, "echo $MUSTER_PROCESS_SECRET"));
  const std::vector<std::string> lines = SortedLines(output);
  ASSERT_THAT(lines, ElementsAre(SizeIs(32), SizeIs(32)));
  EXPECT_NE(lines[0], lines[1]);
}

TEST(RunOutputTest, FlagsAfterTheProgramBelongToIt) {
  EXPECT_EQ(OutputOf({"run", "--", "echo", "--nproc-per-node", "7", "--", "--help"}),
            "[0] --nproc-per-node 7 -- --help\n");
}

TEST(RunOutputTest, AProgressBarIsShownWhileItIsDrawn) {
  // The second update is written after the first has been seen.
  const std::string file = MakeTempDir() + "/seen";
  MusterCommand muster(
      RunShell({}, absl::StrCat("printf '\r10%%'; until [ -e ", file,
                                " ]; do sleep 0.01; done; printf '\r20%%\ndone\n'")));
  ASSERT_TRUE(muster.process().WaitForOutput("[0] 10%"));
  std::ofstream(file).close();
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_EQ(WithoutCoordinator(muster.process().Output()), "\r[0] 10%\r[0] 20%\n[0] done\n");
}

TEST(RunOutputTest, APromptIsShownWhileItWaits) {
  const std::string file = MakeTempDir() + "/seen";
  const std::string prompt =
      absl::StrCat("printf 'go on? '; until [ -e ", file, " ]; do sleep 0.01; done; echo yes");
  MusterCommand muster(RunShell({}, prompt));
  ASSERT_TRUE(muster.process().WaitForOutput("[0] go on? "));
  std::ofstream(file).close();
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_EQ(WithoutCoordinator(muster.process().Output()), "[0] go on? yes\n");
}

TEST(RunOutputTest, StandardOutputAndErrorOfARankDoNotTearItsLog) {
  constexpr int kLines = 5000;
  const std::string directory = MakeTempDir();
  OutputOf(RunShell({"--log-dir", directory},
                    absl::StrCat("seq -f 'out-%.0f-end' ", kLines,
                                 " | while read -r l; do printf "
                                 "'%s' $l; echo; done & seq -f 'err-%.0f-end' ",
                                 kLines,
                                 " | while read -r l; do printf '%s' $l; echo; done >&2; "
                                 "wait")));
  std::map<std::string, int> seen;
  const std::string log = ReadFile(directory + "/rank-0.log");
  for (absl::string_view line : absl::StrSplit(log, '\n', absl::SkipEmpty())) {
    const std::string stream(line.substr(0, 3));
    ASSERT_EQ(line, absl::StrCat(stream, "-", ++seen[stream], "-end"));
  }
  EXPECT_THAT(seen, ElementsAre(Pair("err", kLines), Pair("out", kLines)));
}

// A fifo that the test holds open, and reads when it chooses.
class Fifo {
 public:
  explicit Fifo(const std::string& path) : path_(path) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    reader_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    EXPECT_GE(reader_, 0);
  }
  ~Fifo() { Close(); }

  const std::string& path() const { return path_; }
  int reader() const { return reader_; }
  void Close() {
    if (reader_ >= 0) close(reader_);
    reader_ = -1;
  }
  // Reads until no writer is left, and returns what was read.
  std::string ReadToEnd() const {
    fcntl(reader_, F_SETFL, 0);
    std::string all;
    char buffer[4096];
    for (ssize_t size; (size = read(reader_, buffer, sizeof(buffer))) > 0;)
      all.append(buffer, size);
    return all;
  }

 private:
  const std::string path_;
  int reader_ = -1;
};

TEST(NonBlockingOutputTest, LosesNothing) {
  constexpr int kLines = 50000;
  Fifo fifo(MakeTempDir() + "/fifo");
  // A shell cannot set O_NONBLOCK, but it passes a descriptor on.
  const int writer = open(fifo.path().c_str(), O_WRONLY | O_NONBLOCK);
  ASSERT_TRUE(writer >= 0 && writer < 10) << "dash knows descriptors of one digit";
  const auto muster =
      MusterCommand::Wrapped({"sh", "-c",
                              absl::StrCat("exec \"$MUSTER\" run --no-prefix -- seq ", kLines,
                                           " >&", writer, " 2>&", writer)});
  // Waits until the fifo is full, so that the launcher's write gets EAGAIN.
  ASSERT_TRUE(WaitUntil([&] {
    pollfd writable = {writer, POLLOUT, 0};
    return poll(&writable, 1, 0) == 0;
  }));
  close(writer);
  const std::string output = WithoutCoordinator(fifo.ReadToEnd());
  EXPECT_EQ(muster->process().Wait(), kSuccess);
  const std::vector<std::string> lines = absl::StrSplit(output, '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(kLines));
  EXPECT_EQ(lines.back(), absl::StrCat(kLines));
}

// A thread's stack has the size of `ulimit -s`. This stack fits into no address space.
TEST(RunOutputTest, RanksRunEvenIfThreadsCannotStart) {
  const auto muster = MusterCommand::Wrapped(
      {"sh", "-c",
       "ulimit -s 137438953472 && exec \"$MUSTER\" run --coordinator 127.0.0.1:9 -- echo hello"});
  EXPECT_EQ(muster->process().Wait(), kSuccess);
  const std::string output = muster->process().Output();
  EXPECT_THAT(output, HasSubstr("[0] hello\n"));
  for (const char* missing :
       {"cannot report to the coordinator how ranks end on this node",
        "does not end the ranks here", "cannot inspect this node's ranks when the job hangs"}) {
    EXPECT_THAT(output, HasSubstr(missing));
  }
  EXPECT_THAT(output, HasSubstr("ulimit -u"));
}

TEST(SlowLogTest, BlocksNeitherTheTerminalNorTheRanks) {
  const std::string directory = MakeTempDir();
  Fifo log(directory + "/rank-0.log");
  MusterCommand muster(RunShell({"--log-dir", directory, "--nproc-per-node=2"},
                                "trap '' TERM; [ $RANK = 1 ] || seq 100000 | tr '\n' ' '; echo; "
                                "echo written"));
  EXPECT_TRUE(muster.process().WaitForOutput("[0] written"));
  EXPECT_TRUE(muster.process().WaitForOutput("[1] written"));
  ASSERT_TRUE(muster.WaitForProcesses("sh", 0));
  muster.process().Signal(SIGTERM);  // does not wait for the log
  EXPECT_EQ(muster.process().Wait(), kSuccess);
}

// `muster run`, writing to a fifo that is not read.
class StoppedReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    muster_ =
        MusterCommand::Wrapped({"sh", "-c", "exec \"$MUSTER\" run -- yes >\"$0\"", fifo_.path()});
    ASSERT_TRUE(muster_->WaitForProcesses("yes", 1));
  }

  Fifo fifo_{MakeTempDir() + "/fifo"};
  std::unique_ptr<MusterCommand> muster_;
};

TEST_F(StoppedReaderTest, ASecondSignalEndsTheRun) {
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

TEST_F(StoppedReaderTest, ClosingItEndsTheRunLikeSigpipe) {
  fifo_.Close();
  EXPECT_EQ(muster_->process().Wait(), (Exit{false, 128 + SIGPIPE}));
  EXPECT_THAT(muster_->process().Output(),
              HasSubstr("nobody reads the output any more; ending rank 0"));
  EXPECT_TRUE(muster_->WaitForNone());
}

TEST(GoneReaderTest, EndsASilentRank) {
  const auto muster = MusterCommand::Wrapped(
      {"sh", "-c", "exec \"$MUSTER\" run -- sh -c 'echo first; exec sleep 1001' | head -1"});
  EXPECT_EQ(muster->process().Wait(), kSuccess) << "head's";
  EXPECT_TRUE(muster->WaitForNone());
  EXPECT_THAT(muster->process().Output(), HasSubstr("[0] first\n"));
}

TEST(FullDiskTest, LostOutputIsAFailure) {
  const auto muster =
      MusterCommand::Wrapped({"sh", "-c", "exec \"$MUSTER\" run -- echo lost >/dev/full"});
  EXPECT_EQ(muster->process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(muster->process().Output(),
              HasSubstr("cannot write to standard output: No space left on device"));
}

}  // namespace
}  // namespace muster::cli
