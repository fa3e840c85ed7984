// Tests of how values become bytes and back, and of bytes that are malformed.
#include "muster/codec.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace muster {
namespace {

struct Point {
  int32_t x;
  double y;
  friend bool operator==(const Point& a, const Point& b) { return a.x == b.x && a.y == b.y; }
};

enum class Color : uint8_t { kRed, kBlue };

template <class T>
void ExpectRoundTrip(const T& value, const std::string& type_name) {
  const std::string bytes = Encode(value);
  const absl::StatusOr<T> back = Decode<T>(bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, value);
  EXPECT_EQ(Codec<T>::TypeName(), type_name);
}

TEST(CodecTest, CarriesEveryDocumentedType) {
  ExpectRoundTrip(std::string("two\0halves", 10), "string");
  ExpectRoundTrip(std::string(), "string");
  ExpectRoundTrip(int32_t{-7}, "int32");
  ExpectRoundTrip(std::numeric_limits<uint64_t>::max(), "uint64");
  ExpectRoundTrip(1.5f, "float32");
  ExpectRoundTrip(-0.25, "float64");
  ExpectRoundTrip(true, "uint8");
  ExpectRoundTrip(Color::kBlue, "enum of 1 bytes");
  ExpectRoundTrip(Point{3, 4.5}, "struct of 16 bytes");
  ExpectRoundTrip(std::array<int, 2>{1, 2}, "struct of 8 bytes");
  ExpectRoundTrip(std::vector<double>{1, 2, 3}, "vector<float64>");
  ExpectRoundTrip(std::vector<bool>{true, false}, "vector<uint8>");
  ExpectRoundTrip(std::vector<Point>{{1, 2}, {3, 4}}, "vector<struct of 16 bytes>");
  ExpectRoundTrip(std::vector<std::vector<std::string>>{{"a", ""}, {}, {"b"}},
                  "vector<vector<string>>");
}

TEST(CodecTest, ViewsAndPointersAreNotValues) {
  EXPECT_FALSE(internal::kIsPlainData<const char*>);
  EXPECT_FALSE(internal::kIsPlainData<char[6]>);
  EXPECT_FALSE(internal::kIsPlainData<absl::string_view>);
  EXPECT_TRUE(internal::kIsPlainData<Point>);
}

TEST(CodecTest, TruncatedBytesAreRefused) {
  const std::string bytes = Encode(std::vector<std::string>{"alpha", "beta"});
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto value = Decode<std::vector<std::string>>(bytes.substr(0, length));
    EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument) << length;
  }
}

TEST(CodecTest, SurplusBytesAreRefused) {
  const auto value = Decode<int32_t>(Encode(int64_t{1}));
  EXPECT_EQ(value.status().message(), "a int32 ends 4 bytes before its message does");
}

TEST(CodecTest, ImpossibleLengthsAreRefusedBeforeAllocating) {
  std::string bytes;
  internal::AppendLength(std::numeric_limits<size_t>::max(), &bytes);
  EXPECT_FALSE(Decode<std::vector<double>>(bytes).ok());
  EXPECT_FALSE(Decode<std::string>(bytes).ok());
}

}  // namespace
}  // namespace muster
