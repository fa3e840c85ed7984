// Tests of the list of the coordinators that run on this machine.
#include "common/process/local_coordinators.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

class LocalCoordinatorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/runtime-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    folder_ += "/muster";
    setenv("MUSTER_RUNTIME_DIR", folder_.c_str(), 1);
  }

  size_t files() const {
    const std::filesystem::directory_iterator entries(folder_);
    return static_cast<size_t>(std::distance(begin(entries), end(entries)));
  }

  std::string folder_;
};

TEST_F(LocalCoordinatorsTest, AreListedWhileTheyServe) {
  EXPECT_THAT(FindLocalCoordinators(), IsEmpty());
  auto second = CoordinatorRegistration::Add({"train", "127.0.0.1:7371", "/tmp/token", 17});
  auto first = CoordinatorRegistration::Add({"digits", "127.0.0.1:7370", ""});
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_THAT(FindLocalCoordinators(), ElementsAre(Field(&LocalCoordinator::job, "digits"),
                                                   Field(&LocalCoordinator::job, "train")));
  first.reset();
  ASSERT_THAT(FindLocalCoordinators(), ElementsAre(Field(&LocalCoordinator::job, "train")));
  EXPECT_EQ(FindLocalCoordinators()[0].address, "127.0.0.1:7371");
  EXPECT_EQ(FindLocalCoordinators()[0].token_file, "/tmp/token");
  EXPECT_EQ(FindLocalCoordinators()[0].pid, 17);
  second.reset();
  EXPECT_EQ(files(), 0u);
}

TEST_F(LocalCoordinatorsTest, KilledCoordinatorsAreRemoved) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto listed = CoordinatorRegistration::Add({"train", "127.0.0.1:7370", ""});
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_THAT(FindLocalCoordinators(), ElementsAre(Field(&LocalCoordinator::job, "train")));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(files(), 1u);
  EXPECT_THAT(FindLocalCoordinators(), IsEmpty());
  EXPECT_EQ(files(), 0u);
}

TEST_F(LocalCoordinatorsTest, FolderWritableByOthersIsIgnored) {
  auto listed = CoordinatorRegistration::Add({"train", "127.0.0.1:7370", ""});
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  EXPECT_THAT(FindLocalCoordinators(), IsEmpty());
  EXPECT_EQ(CoordinatorRegistration::Add({"train", "127.0.0.1:7370", ""}), nullptr);
}

TEST_F(LocalCoordinatorsTest, NotListedIfTheFolderCannotBeMade) {
  std::ofstream(folder_) << "a file";
  EXPECT_EQ(CoordinatorRegistration::Add({"train", "127.0.0.1:7370", ""}), nullptr);
  EXPECT_THAT(FindLocalCoordinators(), IsEmpty());
}

}  // namespace
}  // namespace muster
