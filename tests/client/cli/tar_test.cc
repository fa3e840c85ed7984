// The tar of a hang bundle.

#include "client/cli/tar.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/process.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

TEST(TarTest, HoldsTheFilesInTheirOrderForThisUserAlone) {
  const std::string path = MakeTempDir() + "/hang.tar";
  umask(022);
  ASSERT_TRUE(cli::WriteTar(path, "hang", {{"b/verdict.txt", "late"}, {"a.txt", ""}}).ok());
  EXPECT_EQ(ModeOf(path), 0600u);
  const auto list = Process::Start({"tar", "--list", "--file", path});
  EXPECT_EQ(list->Wait(), Exit());
  EXPECT_EQ(list->Output(), "hang/b/verdict.txt\nhang/a.txt\n");
}

TEST(TarTest, IsCompressedWhereItsNameSaysSo) {
  const std::string folder = MakeTempDir();
  for (const std::string name : {"/hang.tar.gz", "/hang.tgz"}) {
    ASSERT_TRUE(cli::WriteTar(folder + name, "hang", {{"a.txt", "a"}}).ok());
    const auto list = Process::Start({"tar", "--list", "--gzip", "--file", folder + name});
    EXPECT_EQ(list->Wait(), Exit());
    EXPECT_EQ(list->Output(), "hang/a.txt\n");
  }
}

TEST(TarTest, AFileThatOthersCouldReadIsTheirsNoLonger) {
  const std::string path = MakeTempDir() + "/hang.tar";
  std::ofstream(path) << "something";
  chmod(path.c_str(), 0644);
  ASSERT_TRUE(cli::WriteTar(path, "hang", {{"a.txt", ""}}).ok());
  EXPECT_EQ(ModeOf(path), 0600u);
}

TEST(TarTest, APathThatCannotBeWrittenIsNamedWithWhy) {
  const absl::Status status = cli::WriteTar("/no/such/folder/hang.tar", "hang", {{"a.txt", ""}});
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("cannot write /no/such/folder/hang.tar: No such file or directory"));
}

}  // namespace
}  // namespace muster::testing
