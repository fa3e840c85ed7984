// A disk that fills up while the job runs. The test mounts a small file system of its own.

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"
#include "tests/util/process/namespaces.h"
#include "tests/util/process/process.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kManySteps = 100;  // their output exceeds a block

class FullDiskTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { skip_reason_ = EnterNamespaces(CLONE_NEWNS); }

  void SetUp() override {
    if (skip_reason_.empty()) Mount();
    if (!skip_reason_.empty()) GTEST_SKIP() << skip_reason_;
  }

  void TearDown() override {
    if (skip_reason_.empty()) umount2(disk_.c_str(), MNT_DETACH);
  }

  void Mount() {
    // Mounts must not be visible outside the test.
    const bool mounted = mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=256k") == 0;
    if (!mounted) skip_reason_ = absl::StrCat("cannot mount a tmpfs: ", strerror(errno));
  }

  void Fill() const {
    const int fd = open((disk_ + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const std::string block(1024, 'x');
    while (write(fd, block.data(), block.size()) > 0) {
    }
    EXPECT_EQ(errno, ENOSPC);
    close(fd);
  }

  // Waits until a file of the disk contains the text.
  bool AwaitText(const std::string& name, const std::string& text) const {
    return WaitUntil([&] { return absl::StrContains(ReadFile(disk_ + name), text); });
  }

  Args Steps() const {
    Args steps = {"barrier", gate_.wait()};
    steps.insert(steps.end(), kManySteps, "barrier");
    steps.push_back("leave");
    return steps;
  }

  static std::string skip_reason_;
  const std::string disk_ = MakeTempDir();
  const Gate gate_;
};

std::string FullDiskTest::skip_reason_;

TEST_F(FullDiskTest, LogDirectoryIsReportedOnceForEachLog) {
  auto run = Launch(2, Steps(), {"--log-dir", disk_ + "/logs"});
  for (const char* log : {"/logs/rank-0.log", "/logs/rank-1.log"}) {
    ASSERT_TRUE(AwaitText(log, "begins wait")) << run->Output();
  }
  Fill();
  gate_.Open();
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
  for (int rank : {0, 1}) {
    const std::string message = absl::StrCat("rank-", rank, ".log: No space left on device; ");
    EXPECT_EQ(CountOf(run->Output(), message), 1) << run->Output();
    EXPECT_THAT(run->Output(), HasSubstr(absl::StrCat("rank ", rank, " is done")));
  }
}

// There is space for a line or two: the rest of a block that an earlier log has begun.
TEST_F(FullDiskTest, DaemonLogDoesNotStopTheJob) {
  const std::string log = disk_ + "/musterd.log";
  std::ofstream(log) << std::string(sysconf(_SC_PAGESIZE) - 300, '.') << "\n";
  Fill();
  const std::string port_file = absl::StrCat(MakeTempDir(), "/port");
  auto daemon = Process::Start({"sh", "-c", "exec \"$@\" 2>>" + log, "sh", MusterdPath(),
                                "--listen=127.0.0.1:0", "--port-file", port_file,
                                "--log-level=debug", "--exit-when-done"});
  const std::string coordinator = absl::StrCat("127.0.0.1:", AwaitPort(*daemon, port_file));
  ASSERT_TRUE(WaitUntil([&] { return absl::StrContains(ReadFile(log), "serving at"); }));
  gate_.Open();
  ExpectExits(StartRanks(coordinator, 2, Steps(), {{"MUSTER_WORLD_SIZE", "2"}}), kSuccess);
  EXPECT_EQ(daemon->Wait(), kSuccess);
  EXPECT_THAT(ReadFile(log), AllOf(HasSubstr("serving at"), Not(HasSubstr("is finished"))));
}

}  // namespace
}  // namespace muster::testing
