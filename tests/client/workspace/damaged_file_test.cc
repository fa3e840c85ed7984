// Tests of files that are damaged by accident, and of malicious files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "absl/strings/str_cat.h"
#include "client/src/workspace/safetensors_reader.h"
#include "client/src/workspace/safetensors_writer.h"
#include "muster/workspace.h"
#include "nlohmann/json.hpp"
#include "tests/util/process/process.h"

namespace muster::internal {
namespace {

using muster::testing::MakeTempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string Bytes(const Configuration& configuration) {
  const auto image = MakeSafetensors(configuration);
  EXPECT_TRUE(image.ok()) << image.status();
  std::string bytes = image->header;
  for (const absl::string_view part : image->tensors) absl::StrAppend(&bytes, part);
  EXPECT_EQ(bytes.size(), image->size());
  return bytes;
}

std::string Sample() {
  static const std::vector<float> weights = {1, 2, 3};
  static const std::vector<uint8_t> mask = {1, 0, 1};
  return Bytes({R"({"a":"b"})", {{"w", ViewOf(weights)}, {"m", ViewOf(mask, {3, 1})}}, nullptr});
}

uint32_t Crc32(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (const unsigned char byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

std::string Hex(uint32_t number) {
  char text[9];
  snprintf(text, sizeof(text), "%08x", number);
  return text;
}

// Returns a file with this header and the right checksum.
std::string Sealed(std::string header, const std::string& data) {
  const std::string key = R"("muster.header_crc32":"00000000)";
  const size_t place = header.find(key);
  if (place != std::string::npos) {
    header.replace(place + key.size() - 8, 8, Hex(Crc32(header)));
  }
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

// Returns a header with one tensor "t" of four bytes, "abcd".
Json OneTensor() {
  return {{"__metadata__",
           {{"muster.config", "null"},
            {"muster.header_crc32", "00000000"},
            {"muster.crc32.t", Hex(Crc32("abcd"))},
            {"muster.crc32.u", Hex(Crc32("abcd"))}}},
          {"t", {{"dtype", "U8"}, {"shape", {4}}, {"data_offsets", {0, 4}}}}};
}

std::string Refusal(const std::string& bytes) {
  const absl::Status status = ReadSafetensors(bytes).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  return std::string(status.message());
}

std::string RefusalOf(const Json& header, const std::string& data = "abcd") {
  return Refusal(Sealed(header.dump(), data));
}

TEST(DamagedFileTest, UndamagedFilesAreRead) {
  EXPECT_TRUE(ReadSafetensors(Sample()).ok());
  const auto one = ReadSafetensors(Sealed(OneTensor().dump(), "abcd"));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->tensors.at("t").num_bytes, 4);
}

TEST(DamagedFileTest, EveryFlippedBitIsFound) {
  const std::string sample = Sample();
  for (size_t bit = 0; bit < sample.size() * 8; ++bit) {
    std::string damaged = sample;
    damaged[bit / 8] ^= 1 << (bit % 8);
    ASSERT_EQ(ReadSafetensors(damaged).status().code(), absl::StatusCode::kDataLoss) << bit;
  }
}

TEST(DamagedFileTest, EveryTruncationIsFound) {
  const std::string sample = Sample();
  for (size_t size = 0; size < sample.size(); ++size) {
    ASSERT_EQ(ReadSafetensors(absl::string_view(sample).substr(0, size)).status().code(),
              absl::StatusCode::kDataLoss)
        << size;
  }
  EXPECT_THAT(Refusal(sample + "x"), HasSubstr("16 bytes of data, and its tensors take 15"));
}

TEST(DamagedFileTest, TheFileAndTheDamagedTensorAreNamed) {
  const std::string folder = MakeTempDir();
  std::string damaged = Sample();
  damaged.back() ^= 1;
  std::ofstream(folder + "/rank-1.safetensors", std::ios::binary) << damaged;
  const absl::Status status = Workspace::OpenForReading(folder)->Read(1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(folder + "/rank-1.safetensors is damaged"), HasSubstr("tensor 'm'"),
                    HasSubstr("does not match its checksum")));
}

TEST(DamagedFileTest, HugeHeaderLengths) {
  for (const uint64_t length :
       {uint64_t{1} << 63, ~uint64_t{0}, uint64_t{200'000'000}, uint64_t{1'000}}) {
    const std::string bytes(reinterpret_cast<const char*>(&length), 8);
    EXPECT_THAT(Refusal(bytes + "{}"), HasSubstr("header"));
  }
}

TEST(DamagedFileTest, NonObjectHeaders) {
  for (const std::string header : {"", "[]", "null", "{", "{}x", "\xff", "1e999999"}) {
    EXPECT_THAT(Refusal(Sealed(header, "")), HasSubstr("header")) << header;
  }
  EXPECT_THAT(Refusal(Sealed(std::string(1'000'000, '['), "")), HasSubstr("header"));
  const std::string nested =
      R"({"a":)" + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  EXPECT_THAT(Refusal(Sealed(nested, "")), HasSubstr("__metadata__"));
}

TEST(DamagedFileTest, FilesOfOtherWriters) {
  EXPECT_THAT(Refusal(Sealed("{}", "")), HasSubstr("not written by a muster::Workspace"));
  EXPECT_THAT(Refusal(Sealed(R"({"__metadata__":{"format":"pt"}})", "")),
              HasSubstr("not written by a muster::Workspace"));
  EXPECT_THAT(Refusal(Sealed(R"({"__metadata__":[]})", "")), HasSubstr("__metadata__"));
  Json header = OneTensor();
  header["__metadata__"].erase("muster.config");
  EXPECT_THAT(RefusalOf(header), HasSubstr("no configuration"));
  header = OneTensor();
  header["__metadata__"].erase("muster.crc32.t");
  EXPECT_THAT(RefusalOf(header), HasSubstr("tensor 't': it has no checksum"));
}

TEST(DamagedFileTest, HostileShapes) {
  const uint64_t huge = uint64_t{1} << 63;
  for (const Json& shape :
       {Json({5}), Json({huge, 2}), Json({huge}), Json({-1, -4}), Json({4.0}), Json("4"), Json(),
        Json({huge >> 1, huge >> 1, 4}), Json({Json()}), Json::object()}) {
    Json header = OneTensor();
    header["t"]["shape"] = shape;
    EXPECT_THAT(RefusalOf(header), HasSubstr("tensor 't'")) << shape;
  }
}

TEST(DamagedFileTest, HostileOffsets) {
  const uint64_t huge = ~uint64_t{0};
  for (const Json& offsets :
       {Json({0, 5}), Json({4, 0}), Json({huge, 3}), Json({0, huge}), Json({-4, 0}),
        Json::array({0}), Json({0, 4, 4}), Json({0.0, 4.0}), Json("04"), Json(), Json::object()}) {
    Json header = OneTensor();
    header["t"]["data_offsets"] = offsets;
    EXPECT_THAT(RefusalOf(header), HasSubstr("tensor 't'")) << offsets;
  }
}

TEST(DamagedFileTest, HostileDescriptions) {
  for (const Json& description : {Json(), Json("U8"), Json::array(), Json::object()}) {
    Json header = OneTensor();
    header["t"] = description;
    EXPECT_THAT(RefusalOf(header), HasSubstr("tensor 't'")) << description;
  }
  for (const Json& dtype : {Json("U9"), Json(8), Json()}) {
    Json header = OneTensor();
    header["t"]["dtype"] = dtype;
    EXPECT_THAT(RefusalOf(header), HasSubstr("dtype")) << dtype;
  }
}

TEST(DamagedFileTest, TensorsThatOverlapOrLeaveGaps) {
  Json header = OneTensor();
  header["u"] = header["t"];
  EXPECT_THAT(RefusalOf(header), HasSubstr("overlap at byte 0"));
  header["u"]["data_offsets"] = {4, 8};
  EXPECT_THAT(RefusalOf(header, "abcd?abcd"), HasSubstr("9 bytes of data"));
  header["u"]["data_offsets"] = {5, 9};
  EXPECT_THAT(RefusalOf(header, "abcd?abcd"), HasSubstr("leave a gap at byte 4"));
}

// Mutations that keep the checksum right reach the code behind the check.
TEST(DamagedFileTest, RandomMutationsOfAHeader) {
  std::mt19937 random(20240501);
  const std::string header = OneTensor().dump();
  const std::string replacements = "{}[]\",:0123456789-.eE \\tu\xff\n";
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string mutated = header;
    for (int edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t place = random() % mutated.size();
      switch (random() % 3) {
        case 0:
          mutated[place] = replacements[random() % replacements.size()];
          break;
        case 1:
          mutated.insert(place, 1, replacements[random() % replacements.size()]);
          break;
        default:
          mutated.erase(place, 1 + random() % 3);
      }
    }
    const auto read = ReadSafetensors(Sealed(mutated, "abcd"));
    if (read.ok()) continue;
    ASSERT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << mutated;
    ++refused;
  }
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace muster::internal
