// Tests that a reader sees whole files while a writer replaces them, and after the writer was
// killed.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "muster/workspace.h"
#include "tests/util/process/process.h"

namespace muster {
namespace {

using muster::testing::MakeTempDir;

constexpr int kElements = 100'000;

// Writes version v: {"v"}, and a tensor in which each element is v.
absl::Status WriteVersion(const Workspace& workspace, int version) {
  const std::vector<int32_t> data(kElements, version);
  return workspace.Write({std::to_string(version), {{"x", ViewOf(data)}}, nullptr});
}

[[noreturn]] void WriteForever(const std::string& folder) {
  const auto workspace = Workspace::Open(folder, 0);
  for (int version = 0; workspace.ok() && WriteVersion(*workspace, version).ok(); ++version) {
  }
  _exit(1);
}

// Returns the version in the file, or -1 if there is no file. If the file is not whole, fails the
// test.
int ReadVersion(const Workspace& workspace) {
  const auto read = workspace.Read(0);
  EXPECT_TRUE(read.ok()) << read.status();
  if (!read.ok() || !read->has_value()) return -1;
  const int version = std::stoi((*read)->json);
  const auto data = (*read)->tensors.at("x").As<int32_t>();
  EXPECT_EQ(data->size(), kElements);
  for (const int32_t value : *data) {
    if (value != version) ADD_FAILURE() << "version " << version << " holds a " << value;
    if (value != version) break;
  }
  return version;
}

TEST(KilledWriterTest, AReaderNeverSeesHalfAFile) {
  for (int round = 0; round < 5; ++round) {
    const std::string folder = MakeTempDir();
    const pid_t writer = fork();
    if (writer == 0) WriteForever(folder);
    const auto reader = Workspace::OpenForReading(folder);
    ASSERT_TRUE(reader.ok());
    while (ReadVersion(*reader) < 3 && !HasFailure()) {
    }
    kill(writer, SIGKILL);
    waitpid(writer, nullptr, 0);
    EXPECT_GE(ReadVersion(*reader), 3);
    // Half a file may be left under another name. The next process of that rank removes it.
    ASSERT_TRUE(Workspace::Open(folder, 0).ok());
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
}

}  // namespace
}  // namespace muster
