// Tests of where the launcher looks for musterd.
#include "client/launcher/process/find_program.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/process/process.h"

namespace muster::launcher {
namespace {

using muster::testing::MakeTempDir;
using ::testing::HasSubstr;

void WriteFile(const std::string& path, int mode) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << "#!/bin/sh\n";
  ASSERT_EQ(chmod(path.c_str(), mode), 0);
}

TEST(FindProgramTest, FindsTheFirstExecutable) {
  const std::string root = MakeTempDir();
  WriteFile(root + "/a/tool", 0644);
  WriteFile(root + "/b/tool", 0755);
  WriteFile(root + "/c/tool", 0755);
  const auto found =
      FindProgram("tool", absl::StrCat(root, "/none:", root, "/a:", root, "/b:", root, "/c"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, root + "/b/tool");
}

TEST(FindProgramTest, ExplainsWhyNoneIsFound) {
  const std::string root = MakeTempDir();
  WriteFile(root + "/tool", 0644);
  EXPECT_EQ(FindProgram("tool", root).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(FindProgram("other", root).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FindProgram(root + "/other", "").status().code(), absl::StatusCode::kNotFound);
}

TEST(FindMusterdTest, PrefersTheOneNextToItself) {
  const std::string root = MakeTempDir();
  WriteFile(root + "/install/musterd", 0755);
  WriteFile(root + "/path/musterd", 0755);
  const auto found = FindMusterd("", root + "/install/muster", root + "/path");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, root + "/install/musterd");
}

TEST(FindMusterdTest, KnowsBazelsOutputTree) {
  const std::string root = MakeTempDir();
  WriteFile(root + "/bin/server/musterd", 0755);
  std::filesystem::create_directories(root + "/bin/client/cli");
  const auto found = FindMusterd("", root + "/bin/client/cli/muster", "");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(std::filesystem::equivalent(*found, root + "/bin/server/musterd"));
}

TEST(FindMusterdTest, ListsThePlacesThatItSearched) {
  const auto found = FindMusterd("", "/opt/muster/bin/muster", "/no/such/directory");
  ASSERT_EQ(found.status().code(), absl::StatusCode::kNotFound);
  const std::string message(found.status().message());
  EXPECT_THAT(message, HasSubstr("/opt/muster/bin/musterd, "));
  EXPECT_THAT(message, HasSubstr("/opt/muster/bin/../../server/musterd"));
  EXPECT_THAT(message, HasSubstr("Set MUSTER_MUSTERD or --musterd"));
}

}  // namespace
}  // namespace muster::launcher
