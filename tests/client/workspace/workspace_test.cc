// Tests of a workspace in one process: what is written, read, replaced and refused.
#include "muster/workspace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "nlohmann/json.hpp"
#include "tests/util/process/process.h"

namespace muster {
namespace {

using muster::testing::MakeTempDir;
using muster::testing::ReadFile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kText[] = R"({"layers":2,"name":"tiny"})";

std::set<std::string> Files(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

void Touch(const std::string& path) { std::ofstream(path) << "x"; }

Workspace OpenAs(const std::string& folder, int rank) {
  absl::StatusOr<Workspace> workspace = Workspace::Open(folder, rank);
  EXPECT_TRUE(workspace.ok()) << workspace.status();
  return workspace.ok() ? *workspace : Workspace();
}

template <class T>
std::vector<T> Elements(const Configuration& configuration, const std::string& name) {
  const auto span = configuration.tensors.at(name).As<T>();
  EXPECT_TRUE(span.ok()) << span.status();
  return span.ok() ? std::vector<T>(span->begin(), span->end()) : std::vector<T>();
}

TEST(WorkspaceTest, EveryRankReadsWhatARankWrote) {
  const std::string folder = MakeTempDir() + "/new/folder";
  const Workspace writer = OpenAs(folder, 0);
  const Workspace other = OpenAs(folder, 1);
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> steps = {7};
  const std::vector<uint8_t> odd = {1, 2, 3};
  const uint16_t halves[] = {0x3c00, 0x4000};
  ASSERT_TRUE(writer
                  .Write({kText,
                          {{"weights", ViewOf(weights, {2, 3})},
                           {"steps", ViewOf(steps, {})},
                           {"odd", ViewOf(odd)},
                           {"empty", ViewOf(std::vector<double>(), {0, 5})},
                           {"halves", {DataType::kBfloat16, {2}, halves, sizeof(halves)}}},
                          nullptr})
                  .ok());
  for (const bool map : {false, true}) {
    const auto read = map ? other.Map(0) : other.Read(0);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_TRUE(read->has_value());
    const Configuration& configuration = **read;
    EXPECT_EQ(configuration.json, kText);
    EXPECT_EQ(configuration.tensors.size(), 5);
    EXPECT_EQ(Elements<float>(configuration, "weights"), weights);
    EXPECT_THAT(configuration.tensors.at("weights").shape, ElementsAre(2, 3));
    EXPECT_EQ(Elements<int64_t>(configuration, "steps"), steps);
    EXPECT_THAT(configuration.tensors.at("steps").shape, IsEmpty());
    EXPECT_EQ(Elements<uint8_t>(configuration, "odd"), odd);
    EXPECT_THAT(configuration.tensors.at("empty").shape, ElementsAre(0, 5));
    EXPECT_EQ(configuration.tensors.at("halves").type, DataType::kBfloat16);
    EXPECT_FALSE(configuration.tensors.at("halves").As<int16_t>().ok());
  }
}

TEST(WorkspaceTest, ARankThatHasNotWrittenIsAbsent) {
  const Workspace workspace = OpenAs(MakeTempDir(), 0);
  const auto read = workspace.Read(3);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->has_value());
}

TEST(WorkspaceTest, TheFormatIsSafetensors) {
  const std::string folder = MakeTempDir();
  const std::vector<uint8_t> bytes = {9};
  const std::vector<double> doubles = {0.5, 1.5};
  ASSERT_TRUE(OpenAs(folder, 2)
                  .Write({"null", {{"a", ViewOf(bytes)}, {"b", ViewOf(doubles)}}, nullptr})
                  .ok());
  const std::string file = ReadFile(folder + "/rank-2.safetensors");
  uint64_t length = 0;
  memcpy(&length, file.data(), sizeof(length));
  EXPECT_EQ(length % 8, 0);
  const auto header = nlohmann::json::parse(file.substr(8, length));
  EXPECT_EQ(header["b"]["dtype"], "F64");
  EXPECT_EQ(header["b"]["shape"], nlohmann::json::array({2}));
  EXPECT_EQ(header["b"]["data_offsets"], nlohmann::json::array({0, 16}));
  EXPECT_EQ(header["a"]["dtype"], "U8");
  EXPECT_EQ(header["a"]["data_offsets"], nlohmann::json::array({16, 17}));
  for (const auto& [key, value] : header["__metadata__"].items()) {
    EXPECT_TRUE(value.is_string()) << key;
  }
  EXPECT_EQ(file.size(), 8 + length + 17);
  const std::string values(reinterpret_cast<const char*>(doubles.data()), 16);
  EXPECT_EQ(file.substr(8 + length, 16), values);
}

TEST(WorkspaceTest, OpeningRemovesOnlyTheWritersOwnStaleState) {
  const std::string folder = MakeTempDir();
  for (const int rank : {1, 10}) ASSERT_TRUE(OpenAs(folder, rank).Write({"{}", {}, nullptr}).ok());
  for (const char* name :
       {".rank-1.safetensors.5", ".rank-10.safetensors.5", ".rank-2.safetensors.5", "notes.txt"}) {
    Touch(folder + "/" + name);
  }
  OpenAs(folder, 1);
  EXPECT_THAT(Files(folder), UnorderedElementsAre("rank-10.safetensors", ".rank-10.safetensors.5",
                                                  ".rank-2.safetensors.5", "notes.txt"));
}

TEST(WorkspaceTest, WritingAgainReplaces) {
  const Workspace workspace = OpenAs(MakeTempDir(), 0);
  const std::vector<int32_t> first = {1}, second = {2, 2};
  ASSERT_TRUE(workspace.Write({"1", {{"x", ViewOf(first)}, {"y", ViewOf(first)}}, nullptr}).ok());
  const auto before = workspace.Map(0);
  ASSERT_TRUE(workspace.Write({"2", {{"x", ViewOf(second)}}, nullptr}).ok());
  const auto after = workspace.Read(0);
  ASSERT_TRUE(after.ok() && after->has_value());
  EXPECT_EQ((*after)->json, "2");
  EXPECT_EQ((*after)->tensors.size(), 1);
  // A reader that has mapped the old file keeps it.
  EXPECT_EQ(Elements<int32_t>(**before, "y"), first);
  ASSERT_TRUE(workspace.Clear().ok());
  EXPECT_FALSE(workspace.Read(0)->has_value());
  EXPECT_TRUE(workspace.Clear().ok());
}

TEST(WorkspaceTest, NotInitializedIsRefused) {
  const Workspace workspace;
  EXPECT_FALSE(workspace.is_initialized());
  EXPECT_EQ(workspace.Read(0).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(workspace.Write({}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Workspace::Open("", 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Workspace::Open("/tmp", -1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(OpenAs(MakeTempDir(), 0).is_initialized());
}

TEST(WorkspaceTest, ReadersDoNotWriteAndCreateNothing) {
  const std::string folder = MakeTempDir();
  const auto reader = Workspace::OpenForReading(folder);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->Write({}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Workspace::OpenForReading(folder + "/none").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(Files(folder), IsEmpty());
}

TEST(WorkspaceTest, AFolderThatCannotBeMadeIsNamed) {
  const std::string folder = MakeTempDir();
  Touch(folder + "/file");
  const absl::Status status = Workspace::Open(folder + "/file/below", 0).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder + "/file/below"));
  EXPECT_FALSE(Workspace::OpenForReading(folder + "/file").ok());
}

TEST(WorkspaceTest, MalformedConfigurationsAreNamed) {
  const Workspace workspace = OpenAs(MakeTempDir(), 0);
  const std::vector<float> data = {1, 2};
  const auto refusal = [&](const Configuration& configuration) {
    const absl::Status status = workspace.Write(configuration);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal({"{", {}, nullptr}), HasSubstr("not JSON"));
  EXPECT_THAT(refusal({"\"\xff\"", {}, nullptr}), HasSubstr("not JSON"));
  EXPECT_THAT(refusal({"{}", {{"", ViewOf(data)}}, nullptr}), HasSubstr("tensor name"));
  EXPECT_THAT(refusal({"{}", {{"\xff", ViewOf(data)}}, nullptr}), HasSubstr("tensor name"));
  EXPECT_THAT(refusal({"{}", {{"__metadata__", ViewOf(data)}}, nullptr}), HasSubstr("reserved"));
  EXPECT_THAT(refusal({"{}", {{"w", ViewOf(data, {3})}}, nullptr}),
              AllOf(HasSubstr("'w'"), HasSubstr("float32 [3]"), HasSubstr("8 bytes")));
  EXPECT_THAT(refusal({"{}", {{"w", ViewOf(data, {-2, -1})}}, nullptr}), HasSubstr("'w'"));
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THAT(refusal({"{}", {{"w", ViewOf(data, {huge, 4})}}, nullptr}), HasSubstr("'w'"));
  EXPECT_FALSE(workspace.Read(0)->has_value());
}

// The limit on file sizes stands in for a full disk.
TEST(WorkspaceTest, AFailedWriteLeavesTheOldFileAndNothingElse) {
  const std::string folder = MakeTempDir();
  const Workspace workspace = OpenAs(folder, 0);
  ASSERT_TRUE(workspace.Write({"\"old\"", {}, nullptr}).ok());
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {10000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::vector<char> large(20000, 'x');
  const absl::Status status = workspace.Write(
      {"\"new\"", {{"w", {DataType::kInt8, {20000}, large.data(), large.size()}}}, nullptr});
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("cannot write"), HasSubstr(folder), HasSubstr("File too large")));
  EXPECT_THAT(Files(folder), UnorderedElementsAre("rank-0.safetensors"));
  EXPECT_EQ((*workspace.Read(0))->json, "\"old\"");
}

TEST(WorkspaceTest, APathThatIsNotAFileIsNamed) {
  const std::string folder = MakeTempDir();
  const Workspace workspace = OpenAs(folder, 0);
  ASSERT_EQ(mkfifo((folder + "/rank-1.safetensors").c_str(), 0600), 0);
  const absl::Status status = workspace.Read(1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank-1.safetensors is not a file"));
}

}  // namespace
}  // namespace muster
