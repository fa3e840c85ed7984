// Tests of files in /dev/shm that processes share.
#include "common/memory/shared_memory_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

constexpr size_t kSize = 3 * 4096;

// A new folder in a tmpfs.
class SharedMemoryFileTest : public ::testing::Test {
 protected:
  SharedMemoryFileTest() {
    char name[] = "/dev/shm/muster-shared-memory-test-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/memory";
  }
  ~SharedMemoryFileTest() override { std::filesystem::remove_all(folder_); }

  bool Exists() const { return std::filesystem::exists(path_); }

  std::string folder_;
  std::string path_;
};

TEST_F(SharedMemoryFileTest, MappingsShareMemory) {
  const auto made = SharedMemoryFile::Make(path_, kSize, kSize, "content");
  ASSERT_TRUE(made.ok()) << made.status();
  const auto opened = SharedMemoryFile::Open(path_, kSize);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto mine = made->Map(kSize, 0);
  const auto theirs = opened->Map(kSize, 0);
  ASSERT_TRUE(mine.ok() && theirs.ok());
  EXPECT_STREQ(static_cast<const char*>(theirs->data()), "content");
  std::memset(mine->data(), 'x', kSize);
  EXPECT_EQ(std::string(static_cast<const char*>(theirs->data()), kSize), std::string(kSize, 'x'));
}

TEST_F(SharedMemoryFileTest, UnlinkKeepsTheMemory) {
  const auto made = SharedMemoryFile::Make(path_, kSize, kSize, "kept");
  ASSERT_TRUE(made.ok()) << made.status();
  made->Unlink();
  EXPECT_FALSE(Exists());
  made->Unlink();
  EXPECT_STREQ(static_cast<const char*>(made->Map(kSize, 0)->data()), "kept");
}

TEST_F(SharedMemoryFileTest, OpenChecksNameAndSize) {
  EXPECT_TRUE(absl::IsNotFound(SharedMemoryFile::Open(path_, kSize).status()));
  const auto made = SharedMemoryFile::Make(path_, kSize, kSize, "");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(absl::IsAlreadyExists(SharedMemoryFile::Make(path_, kSize, kSize, "").status()));
  const absl::Status other_size = SharedMemoryFile::Open(path_, 1).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(other_size));
  EXPECT_EQ(other_size.message(),
            absl::StrCat("the shared memory at ", path_, " has ", kSize, " bytes; expected 1"));
}

TEST_F(SharedMemoryFileTest, RemovesOnlyFilesThatNoProcessHasOpen) {
  const auto is_ours = [](absl::string_view name) { return name == "memory"; };
  {
    const auto made = SharedMemoryFile::Make(path_, kSize, kSize, "");
    SharedMemoryFile::RemoveAbandoned(folder_, is_ours);
    EXPECT_TRUE(Exists());
  }
  SharedMemoryFile::RemoveAbandoned(folder_, [](absl::string_view) { return false; });
  EXPECT_TRUE(Exists());
  SharedMemoryFile::RemoveAbandoned(folder_, is_ours);
  EXPECT_FALSE(Exists());
}

TEST_F(SharedMemoryFileTest, UnnamedFileLeavesNothingBehind) {
  const auto made = SharedMemoryFile::MakeUnnamed(folder_, kSize);
  ASSERT_TRUE(made.ok()) << made.status();
  struct stat info;
  ASSERT_EQ(fstat(made->descriptor(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(static_cast<size_t>(info.st_size), kSize);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  EXPECT_TRUE(made->Reserve(0, kSize).ok());
}

TEST_F(SharedMemoryFileTest, SealedMemoryKeepsItsSize) {
  const auto made = SharedMemoryFile::MakeSealed("test", kSize);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(ftruncate(made->descriptor(), 0), -1);
  EXPECT_EQ(ftruncate(made->descriptor(), 2 * kSize), -1);
  EXPECT_EQ(fcntl(made->descriptor(), F_ADD_SEALS, F_SEAL_WRITE), -1);
  EXPECT_TRUE(made->Map(kSize, 0).ok());
}

TEST_F(SharedMemoryFileTest, ErrorNamesAFolderThatIsNoTmpfs) {
  const absl::Status status = SharedMemoryFile::MakeUnnamed("/proc", kSize).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("cannot make shared memory in /proc, which should be a tmpfs"));
}

// Otherwise the process would be killed.
TEST_F(SharedMemoryFileTest, FileSizeLimitIsAnError) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status statuses[] = {SharedMemoryFile::Make(path_, kSize, kSize, "").status(),
                                   SharedMemoryFile::MakeUnnamed(folder_, kSize).status(),
                                   SharedMemoryFile::MakeSealed("test", kSize).status()};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  for (const absl::Status& status : statuses) {
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("(ulimit -f) is below 12288 bytes"));
  }
}

}  // namespace
}  // namespace muster
