// Tests of a bundle's texts: how long they may be, and where they may be written.

#include "client/observe/bundle/bundle.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "client/observe/bounded_work.h"
#include "client/observe/bundle/bundle_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/process/process.h"

namespace muster::observe {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

TEST(BundleTest, ALongTextIsCutAtALineWithANote) {
  EXPECT_EQ(TruncateText("one\ntwo\n", 100), "one\ntwo\n");
  EXPECT_EQ(TruncateText("one\ntwo\nthree\nfour\nfive\nsix\n", 20), "one\ntwo\n... (cut)\n");
  EXPECT_THAT(TruncateText(std::string(1000, 'x'), 100),
              AllOf(SizeIs(Le(100u)), EndsWith("... (cut)\n")));
}

TEST(BundleTest, LastLinesAreWhole) {
  EXPECT_EQ(LastLines("one\ntwo\nthree\n", 100), "one\ntwo\nthree\n");
  EXPECT_EQ(LastLines("one\ntwo\nthree\n", 8), "three\n");
  EXPECT_EQ(LastLines("one\ntwo\nthree\n", 6), "three\n");
  EXPECT_EQ(LastLines("10 %\r20 %\r", 7), "20 %\r");
  EXPECT_EQ(LastLines("TOKEN=of one line", 4), "(one line, too long to be shown)\n");
}

TEST(BundleTest, TheLongestFilesAreCutFirst) {
  std::vector<File> files = {{"a", std::string(100, 'a')}, {"b", std::string(100000, 'b')}};
  Shrink(&files, 1000);
  ASSERT_THAT(files, SizeIs(2));
  EXPECT_THAT(files[0].content, SizeIs(100));
  EXPECT_THAT(files[1].content, SizeIs(Le(900u)));
}

TEST(BundleTest, FilesArePrivateAndStayInTheFolder) {
  const std::string folder = muster::testing::MakeTempDir() + "/bundle";
  ASSERT_TRUE(WriteFiles(folder, {{"nodes/n1/x.txt", "text"}}).ok());
  EXPECT_EQ(muster::testing::ReadFile(folder + "/nodes/n1/x.txt"), "text");
  struct stat info;
  ASSERT_EQ(stat((folder + "/nodes/n1/x.txt").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  for (const char* name : {"../x", "/etc/x", "a/../../x", "a//b", ".x"}) {
    EXPECT_FALSE(WriteFiles(folder, {{name, "text"}}).ok()) << name;
  }
  EXPECT_EQ(PathPart("../n 1/boot"), "_.._n_1_boot");
}

TEST(BundleTest, LaunchersThatShareAFolderMayWriteTheSameFile) {
  const std::string folder = muster::testing::MakeTempDir() + "/bundle";
  std::atomic<int> failed{0};
  std::vector<std::thread> launchers;
  for (int i = 0; i < 4; ++i) {
    launchers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        failed += WriteFiles(folder, {{"verdict.txt", "the same for all\n"}}).ok() ? 0 : 1;
      }
    });
  }
  for (std::thread& launcher : launchers) launcher.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(muster::testing::ReadFile(folder + "/verdict.txt"), "the same for all\n");
  EXPECT_THAT(NamesIn(folder), ElementsAre("verdict.txt"));
}

TEST(BundleTest, AnotherUsersFolderIsRejected) {
  const std::string theirs = muster::testing::MakeTempDir();
  const std::string root = muster::testing::MakeTempDir();
  ASSERT_EQ(symlink(theirs.c_str(), (root + "/hang").c_str()), 0);
  const absl::Status status = WriteFiles(root + "/hang", {{"verdict.txt", "text"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not a folder of this user's own"));
  ASSERT_EQ(mkdir((root + "/own").c_str(), 0700), 0);
  ASSERT_EQ(symlink(theirs.c_str(), (root + "/own/nodes").c_str()), 0);
  EXPECT_FALSE(WriteFiles(root + "/own/", {{"nodes/n1/x.txt", "text"}}).ok());
  EXPECT_THAT(NamesIn(theirs), SizeIs(0));
  // A link that was planted at a file's path is replaced; the write does not follow it.
  ASSERT_EQ(symlink((theirs + "/x").c_str(), (root + "/own/verdict.txt").c_str()), 0);
  EXPECT_TRUE(WriteFiles(root + "/own", {{"verdict.txt", "text"}}).ok());
  EXPECT_THAT(NamesIn(theirs), SizeIs(0));
}

TEST(BoundedWorkTest, WithoutThreadsNothingRuns) {
  pthread_attr_t usual;
  pthread_attr_t impossible;
  pthread_getattr_default_np(&usual);
  pthread_attr_init(&impossible);
  pthread_attr_setstacksize(&impossible, size_t{1} << 50);
  ASSERT_EQ(pthread_setattr_default_np(&impossible), 0);
  const bool done = RunWithin(absl::InfiniteDuration(), 2, {[] {}});
  pthread_setattr_default_np(&usual);
  EXPECT_FALSE(done);
}

TEST(BoundedWorkTest, AHangingPieceIsAbandoned) {
  const auto never = std::make_shared<absl::Notification>();
  const auto done = std::make_shared<std::atomic<int>>(0);
  std::vector<std::function<void()>> work;
  work.push_back([never] { never->WaitForNotification(); });
  work.push_back([done] { ++*done; });
  EXPECT_FALSE(RunWithin(absl::Seconds(3), 2, work));
  EXPECT_EQ(*done, 1);
  never->Notify();
  EXPECT_TRUE(RunWithin(absl::Minutes(1), 2, {[done] { ++*done; }, [done] { ++*done; }}));
  EXPECT_EQ(*done, 3);
}

}  // namespace
}  // namespace muster::observe
