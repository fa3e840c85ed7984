// Tests of the tar archive of a hang's bundle.

#include "client/cli/inquire/tar.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/process/process.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

// An environment variable, restored by the destructor.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* const before = std::getenv(name);
    if (before != nullptr) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

TEST(TarTest, HoldsTheFilesInOrderAndIsPrivate) {
  const std::string path = MakeTempDir() + "/hang.tar";
  umask(022);
  ASSERT_TRUE(cli::WriteTar(path, "hang", {{"b/verdict.txt", "late"}, {"a.txt", ""}}).ok());
  EXPECT_EQ(ModeOf(path), 0600u);
  const auto list = Process::Start({"tar", "--list", "--file", path});
  EXPECT_EQ(list->Wait(), Exit());
  EXPECT_EQ(list->Output(), "hang/b/verdict.txt\nhang/a.txt\n");
}

TEST(TarTest, ItsNameSelectsCompression) {
  const std::string folder = MakeTempDir();
  for (const std::string name : {"/hang.tar.gz", "/hang.tgz"}) {
    ASSERT_TRUE(cli::WriteTar(folder + name, "hang", {{"a.txt", "a"}}).ok());
    const auto list = Process::Start({"tar", "--list", "--gzip", "--file", folder + name});
    EXPECT_EQ(list->Wait(), Exit());
    EXPECT_EQ(list->Output(), "hang/a.txt\n");
  }
}

TEST(TarTest, AnExistingFileBecomesPrivate) {
  const std::string path = MakeTempDir() + "/hang.tar";
  std::ofstream(path) << "something";
  chmod(path.c_str(), 0644);
  ASSERT_TRUE(cli::WriteTar(path, "hang", {{"a.txt", ""}}).ok());
  EXPECT_EQ(ModeOf(path), 0600u);
}

// Linux limits a command line to a quarter of the stack's limit, but to no less than 128 KiB.
TEST(TarTest, HoldsMoreFilesThanACommandLineCouldName) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &limit), 0);
  limit.rlim_cur = 512 << 10;
  ASSERT_EQ(setrlimit(RLIMIT_STACK, &limit), 0);
  std::vector<observe::File> files;
  for (int i = 0; i < 700; ++i) {
    files.push_back({absl::StrCat("ranks/", std::string(200, 'x'), i), ""});
  }
  const std::string path = MakeTempDir() + "/hang.tar";
  const absl::Status written = cli::WriteTar(path, "hang", files);
  EXPECT_TRUE(written.ok()) << written;
  const auto list = Process::Start({"tar", "--list", "--file", path});
  EXPECT_EQ(list->Wait(), Exit());
  const std::vector<std::string> names = absl::StrSplit(list->Output(), '\n', absl::SkipEmpty());
  ASSERT_THAT(names, SizeIs(700));
  EXPECT_EQ(names[699], "hang/" + files[699].name);
}

TEST(TarTest, NamesAreNotParsedAsOptions) {
  const std::string path = MakeTempDir() + "/hang.tar";
  ASSERT_TRUE(cli::WriteTar(path, "hang", {{"a\n--exclude=*", "late"}}).ok());
  const auto list = Process::Start({"tar", "--list", "--quoting-style=literal", "--file", path});
  EXPECT_EQ(list->Wait(), Exit());
  EXPECT_EQ(list->Output(), "hang/a\n--exclude=*\n");
}

TEST(TarTest, OnFailureTheFilesStayInANamedFolder) {
  const std::string folder = MakeTempDir();
  const Variable temporary("TMPDIR", folder);
  ASSERT_EQ(symlink("/bin/false", (folder + "/tar").c_str()), 0);
  const Variable path("PATH", folder);
  const absl::Status status = cli::WriteTar(folder + "/hang.tar", "hang", {{"a.txt", "all"}});
  const std::string text(status.message());
  EXPECT_THAT(text, HasSubstr(absl::StrCat("tar could not write ", folder,
                                           "/hang.tar; what was gathered is in ", folder)));
  EXPECT_EQ(ReadFile(text.substr(text.rfind(' ') + 1) + "/a.txt"), "all");
}

TEST(TarTest, AnUnwritablePathIsNamedWithTheReason) {
  const Variable temporary("TMPDIR", MakeTempDir());
  const absl::Status status = cli::WriteTar("/no/such/folder/hang.tar", "hang", {{"a.txt", ""}});
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("cannot write /no/such/folder/hang.tar: No such file or directory"));
}

}  // namespace
}  // namespace muster::testing
