#include "client/launcher/torch/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/launcher/torch/torch_clients.h"

namespace muster::launcher::torch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Example {
  std::string bytes;
  Op op;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  int64_t number;
};

std::vector<Example> Examples() {
  return {
      {Code(Op::kSet) + Blob("/a") + Blob("1"), Op::kSet, {"/a"}, {"1"}, 0},
      {Code(Op::kCompareSet) + Blob("/a") + Blob("x") + Blob(""),
       Op::kCompareSet,
       {"/a"},
       {"x", ""},
       0},
      {Code(Op::kGet) + Blob("/a"), Op::kGet, {"/a"}, {}, 0},
      {Code(Op::kAdd) + Blob("/n") + I64(-2), Op::kAdd, {"/n"}, {}, -2},
      {Code(Op::kCheck) + Keys({"/a", "/b"}), Op::kCheck, {"/a", "/b"}, {}, 0},
      {Code(Op::kWait) + Keys({}), Op::kWait, {}, {}, 0},
      {Code(Op::kGetNumKeys), Op::kGetNumKeys, {}, {}, 0},
      {Code(Op::kDeleteKey) + Blob("/a"), Op::kDeleteKey, {"/a"}, {}, 0},
      {Code(Op::kAppend) + Blob("/a") + Blob("2"), Op::kAppend, {"/a"}, {"2"}, 0},
      {Code(Op::kMultiGet) + Keys({"/a"}), Op::kMultiGet, {"/a"}, {}, 0},
      {Code(Op::kMultiSet) + I64(2) + Blob("/a") + Blob("1") + Blob("/b") + Blob("2"),
       Op::kMultiSet,
       {"/a", "/b"},
       {"1", "2"},
       0},
      {Code(Op::kCancelWait), Op::kCancelWait, {}, {}, 0},
      {Code(Op::kPing) + std::string("\x01\x02\x03\x84"), Op::kPing, {}, {}, 0x84030201},
      {Code(Op::kQueuePush) + Blob("/q") + Blob("e"), Op::kQueuePush, {"/q"}, {"e"}, 0},
      {Code(Op::kQueuePop) + Blob("/q"), Op::kQueuePop, {"/q"}, {}, 0},
      {Code(Op::kQueueLen) + Blob("/q"), Op::kQueueLen, {"/q"}, {}, 0},
      {Code(Op::kListKeys), Op::kListKeys, {}, {}, 0},
      {Code(Op::kBarrier) + Blob("/b") + I64(4), Op::kBarrier, {"/b"}, {}, 4},
  };
}

void ExpectRequest(RequestReader* reader, const Example& example) {
  absl::StatusOr<std::optional<Request>> request = reader->Next();
  ASSERT_TRUE(request.ok()) << request.status();
  ASSERT_TRUE(request->has_value());
  EXPECT_EQ((*request)->op, example.op);
  EXPECT_EQ((*request)->keys, example.keys);
  EXPECT_EQ((*request)->values, example.values);
  EXPECT_EQ((*request)->number, example.number);
}

void ExpectNothing(RequestReader* reader) {
  const absl::StatusOr<std::optional<Request>> request = reader->Next();
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_FALSE(request->has_value());
}

TEST(Wire, ReadsEveryRequestFromOneBuffer) {
  RequestReader reader;
  std::string bytes = Hello();
  for (const Example& example : Examples()) bytes += example.bytes;
  reader.Add(bytes);
  for (const Example& example : Examples()) ExpectRequest(&reader, example);
  ExpectNothing(&reader);
  EXPECT_EQ(reader.buffered(), 0u);
}

TEST(Wire, ReadsEveryRequestByteByByte) {
  RequestReader reader;
  reader.Add(Hello());
  for (const Example& example : Examples()) {
    for (const char byte : example.bytes) {
      ExpectNothing(&reader);
      reader.Add({&byte, 1});
    }
    ExpectRequest(&reader, example);
  }
}

// The first request may have the code 0, as VALIDATE has.
TEST(Wire, ReadsTheCodesOfOldClients) {
  RequestReader reader;
  reader.Add(std::string(1, '\0') + Blob("/a") + Blob("1"));
  ExpectRequest(&reader, {"", Op::kSet, {"/a"}, {"1"}, 0});
  reader.Add(std::string(1, '\3') + Blob("/n") + I64(1));
  ExpectRequest(&reader, {"", Op::kAdd, {"/n"}, {}, 1});
  reader.Add(std::string(1, '\x08') + Blob("/n"));
  ExpectRequest(&reader, {"", Op::kDeleteKey, {"/n"}, {}, 0});
  reader.Add(std::string(1, '\7') + Blob("/n"));
  EXPECT_THAT(reader.Next().status().message(), HasSubstr("request code 7, which is not offered"));
}

TEST(Wire, RejectsWhatIsBeyondTheLimits) {
  const struct {
    std::string bytes;
    const char* reason;
  } cases[] = {
      {Code(Op::kGet) + I64(kMaxKeyBytes + 1), "a key of 8193 bytes; the limit is 8192"},
      {Code(Op::kGet) + I64(-1), "a key of 18446744073709551615 bytes"},
      {Code(Op::kSet) + Blob("/a") + I64(kMaxValueBytes + 1), "a value of 8388609 bytes"},
      {Code(Op::kWait) + I64(kMaxKeys + 1), "131073 keys; the limit is 131072"},
      {Code(Op::kMultiSet) + I64(-1), "18446744073709551615 keys"},
      {"\x13", "request code 19, which is not offered"},
      {"\xff", "request code 255"},
  };
  for (const auto& example : cases) {
    RequestReader reader;
    reader.Add(Hello() + example.bytes);
    EXPECT_THAT(reader.Next().status().message(), HasSubstr(example.reason));
  }
}

// Each value is allowed, but not their sum.
TEST(Wire, RejectsAHugeRequestBeforeItHasArrived) {
  RequestReader reader;
  reader.Add(Hello() + Code(Op::kMultiSet) + I64(100));
  const std::string value(kMaxValueBytes, 'x');
  absl::Status status;
  for (int i = 0; i < 9 && status.ok(); ++i) {
    reader.Add(Blob("/a") + Blob(value));
    status = reader.Next().status();
  }
  EXPECT_THAT(status.message(), HasSubstr("a request of more than 67108864 bytes"));
}

TEST(Wire, RejectsOtherProtocols) {
  RequestReader reader;
  reader.Add(std::string("\x00\x01\x02\x03\x04", 5));
  EXPECT_THAT(reader.Next().status().message(), HasSubstr("did not begin as a client"));
  RequestReader http;
  http.Add("GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(http.Next().status().message(), HasSubstr("request code 71, which is not offered"));
}

}  // namespace
}  // namespace muster::launcher::torch
