// Tests of `muster run` with a coordinator that fails.

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
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
using ::testing::Not;
using ::testing::StartsWith;

TEST(RunCoordinatorTest, GetsTheJob) {
  const std::string directory = MakeTempDir();
  const auto muster = MusterCommand::Wrapped(
      {"sh", "-c", "TMPDIR=$0 exec \"$MUSTER\" run --nproc-per-node=3 --job=--j -- true",
       directory},
      {{"FAKE_MUSTERD_DIR", directory}});
  EXPECT_EQ(muster->process().Wait(), (Exit{false, 0}));
  EXPECT_THAT(SortedLines(ReadFile(directory + "/arguments")),
              ElementsAre("--job=--j", "--listen=127.0.0.1:0",
                          StartsWith(absl::StrCat("--port-file=", directory, "/muster-run-")),
                          StartsWith(absl::StrCat("--token-file=", directory, "/muster-run-")),
                          "--world-size=3"));
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    EXPECT_THAT(entry.path().filename().string(), Not(StartsWith("muster-run-")));
  }
}

// The token's folder is in TMPDIR. A run may last so long that cleaners of old files would remove
// it.
TEST(RunCoordinatorTest, LocksItsTokenFolderAgainstCleaners) {
  const std::string directory = MakeTempDir();
  const auto muster = MusterCommand::Wrapped(
      {"sh", "-c", "TMPDIR=$0 exec \"$MUSTER\" run -- sh -c 'echo ready; exec sleep 1001'",
       directory});
  ASSERT_TRUE(muster->process().WaitForOutput("ready"));
  const std::filesystem::directory_iterator folder(directory);
  ASSERT_NE(folder, std::filesystem::directory_iterator());
  const int fd = open(folder->path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_NE(flock(fd, LOCK_EX | LOCK_NB), 0) << folder->path();
  EXPECT_EQ(errno, EWOULDBLOCK);
  close(fd);
}

TEST(RunCoordinatorTest, AFailedStartReportsItsOutput) {
  MusterCommand muster(RunShell({}, "echo a rank"), {{"FAKE_MUSTERD", "fails"}});
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(muster.process().Output(), HasSubstr("[musterd] cannot listen\n"));
  EXPECT_THAT(muster.process().Output(),
              HasSubstr("exited with status 3 before it listened at 127.0.0.1:0; its own message "
                        "says why. No rank was started"));
  EXPECT_THAT(muster.process().Output(), Not(HasSubstr("a rank\n")));
}

TEST(RunCoordinatorTest, IsRestartedOnItsPort) {
  const std::string directory = MakeTempDir();
  MusterCommand muster(RunShell({"--nproc-per-node=2"}, "echo ready; exec sleep 1001"),
                       {{"FAKE_MUSTERD_DIR", directory}});
  ASSERT_TRUE(muster.process().WaitForOutput("[0] ready"));
  const std::string pid = ReadFile(directory + "/pid");
  kill(std::stoi(pid), SIGKILL);
  ASSERT_TRUE(muster.process().WaitForOutput("; restarted as pid "));
  EXPECT_THAT(
      muster.process().Output(),
      HasSubstr(absl::StrCat("muster: the coordinator (musterd, pid ", absl::StripSuffix(pid, "\n"),
                             ") was killed by signal 9 (SIGKILL); restarted")));
  ASSERT_TRUE(WaitUntil([&] { return ReadFile(directory + "/pid") != pid; }));
  EXPECT_THAT(ReadFile(directory + "/arguments"), HasSubstr("--listen=127.0.0.1:9\n"));
  EXPECT_TRUE(muster.WaitForProcesses("sleep 1001", 2));
}

TEST(RunCoordinatorTest, IgnoresTheWarningSignalOfABatchSystem) {
  const std::string directory = MakeTempDir();
  MusterCommand muster(RunShell({}, "echo ready; exec sleep 1001"),
                       {{"FAKE_MUSTERD_DIR", directory}});
  ASSERT_TRUE(muster.process().WaitForOutput("ready"));
  const std::string pid(absl::StripSuffix(ReadFile(directory + "/pid"), "\n"));
  const std::string status = ReadFile(absl::StrCat("/proc/", pid, "/status"));
  const size_t mask = status.find("SigIgn:");
  ASSERT_NE(mask, std::string::npos);
  const uint64_t ignored = std::stoull(status.substr(mask + 7), nullptr, 16);
  EXPECT_TRUE(ignored >> (SIGUSR2 - 1) & 1) << status;
}

TEST(RunCoordinatorTest, RepeatedEndsEndTheRun) {
  const std::string directory = MakeTempDir();
  MusterCommand muster(
      RunShell({"--nproc-per-node=2", "--failure-wait=0s"}, "echo ready; exec sleep 1001"),
      {{"FAKE_MUSTERD_DIR", directory},
       {"FAKE_MUSTERD", "ends-again"},
       {"MUSTER_COORDINATOR_TIMEOUT", "100ms"}});
  ASSERT_TRUE(muster.process().WaitForOutput("[0] ready"));
  kill(std::stoi(ReadFile(directory + "/pid")), SIGKILL);
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 76}));
  EXPECT_THAT(muster.process().Output(),
              HasSubstr("exited with status 4 and is not restarted: it has not stayed up for "
                        "100ms, as long as ranks wait for it (MUSTER_COORDINATOR_TIMEOUT); its own "
                        "messages say why; ending ranks 0-1"));
  EXPECT_THAT(muster.process().Output(), HasSubstr("failed: its coordinator exited with status 4"));
  EXPECT_TRUE(muster.WaitForNone());
}

TEST(RunCoordinatorTest, IsRestartedWithBackOffUntilItStays) {
  const std::string directory = MakeTempDir();
  MusterCommand muster(RunShell({}, "echo ready; exec sleep 1001"),
                       {{"FAKE_MUSTERD_DIR", directory}, {"FAKE_MUSTERD", "ends-again"}});
  ASSERT_TRUE(muster.process().WaitForOutput("ready"));
  kill(std::stoi(ReadFile(directory + "/pid")), SIGKILL);
  ASSERT_TRUE(muster.process().WaitForOutput("; restarted as pid "));
  ASSERT_TRUE(muster.process().WaitForOutput("exited with status 4; it is started again in 200ms"));
  std::ofstream(directory + "/stays").close();
  ASSERT_TRUE(muster.process().WaitForOutput("exited with status 4; restarted as pid "));
  ASSERT_TRUE(muster.WaitForProcesses("sleep 1000", 1));
  EXPECT_TRUE(muster.WaitForProcesses("sleep 1001", 1));
}

TEST(RunCoordinatorTest, CanBeInterruptedWhileItStarts) {
  MusterCommand muster(RunShell({}, "echo a rank"), {{"FAKE_MUSTERD", "never-listens"}});
  ASSERT_TRUE(muster.WaitForProcesses("sleep 1000", 1));
  muster.process().Signal(SIGTERM);
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 128 + SIGTERM}));
  EXPECT_THAT(muster.process().Output(), HasSubstr("got SIGTERM before any rank was started"));
  EXPECT_THAT(muster.Processes(), IsEmpty());
}

TEST(RunCoordinatorTest, ANonExecutableIsAnError) {
  MusterCommand muster({"run", "--musterd", "/no/such/musterd", "--", "true"});
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(muster.process().Output(),
              HasSubstr("cannot start the coordinator /no/such/musterd: No such file"));
}

TEST(RunCoordinatorTest, IsNotStartedIfAFlagNamesOne) {
  const std::string directory = MakeTempDir();
  MusterCommand muster(
      RunShell({"--coordinator=[::1]:9"}, "echo $MUSTER_COORDINATOR $MUSTER_JOB $MASTER_ADDR"),
      {{"FAKE_MUSTERD_DIR", directory}});
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 0}));
  EXPECT_EQ(muster.process().Output(), "[0] [::1]:9 default ::1\n");
  EXPECT_FALSE(std::filesystem::exists(directory + "/pid"));
}

TEST(RunCoordinatorTest, TheRunPrintsItsAddress) {
  MusterCommand muster(RunShell({"--job=digits"}, "echo a rank"));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 0}));
  EXPECT_EQ(muster.process().Output(),
            "muster: the coordinator is at 127.0.0.1:9; 'muster status --job digits' shows the "
            "job\n[0] a rank\n");
}

TEST(RunCoordinatorTest, TheRunPrintsItsPageWhichKeepsItsAddress) {
  const std::string directory = MakeTempDir();
  MusterCommand muster(RunShell({"--metrics-listen=0.0.0.0:0"}, "exec sleep 1001"),
                       {{"FAKE_MUSTERD_DIR", directory}});
  ASSERT_TRUE(muster.process().WaitForOutput("and so does http://127.0.0.1:7/\n"));
  EXPECT_THAT(ReadFile(directory + "/arguments"), HasSubstr("--metrics-listen=0.0.0.0:0\n"));
  const std::string pid = ReadFile(directory + "/pid");
  kill(std::stoi(pid), SIGKILL);
  ASSERT_TRUE(WaitUntil([&] {
    const std::string now = ReadFile(directory + "/pid");
    return !now.empty() && now != pid;
  }));
  EXPECT_THAT(ReadFile(directory + "/arguments"), HasSubstr("--metrics-listen=0.0.0.0:7\n"));
}

TEST(RunCoordinatorTest, IsNotStartedIfAVariableNamesOne) {
  const std::string directory = MakeTempDir();
  MusterCommand muster(RunShell({}, "echo $MUSTER_COORDINATOR $MUSTER_JOB"),
                       {{"FAKE_MUSTERD_DIR", directory},
                        {"MUSTER_COORDINATOR", "127.0.0.1:9"},
                        {"MUSTER_JOB", "digits"}});
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 0}));
  EXPECT_EQ(muster.process().Output(), "[0] 127.0.0.1:9 digits\n");
  EXPECT_FALSE(std::filesystem::exists(directory + "/pid"));
}

}  // namespace
}  // namespace muster::cli
