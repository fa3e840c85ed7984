#include "server/daemon/header_guard.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace muster::daemon {
namespace {

constexpr uint8_t kData = 0;
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kSettings = 4;
constexpr uint8_t kContinuation = 9;
constexpr uint8_t kAcknowledges = 1;

std::string Frame(uint8_t type, uint32_t size, uint8_t flags = 0) {
  const char header[] = {static_cast<char>(size >> 16),
                         static_cast<char>(size >> 8),
                         static_cast<char>(size),
                         static_cast<char>(type),
                         static_cast<char>(flags),
                         0,
                         0,
                         0,
                         1};
  return std::string(header, sizeof(header)) + std::string(size, '\x01');
}

std::string Opening() { return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 6); }
std::string Acknowledged() { return Opening() + Frame(kSettings, 0, kAcknowledges); }

bool Admits(const std::string& bytes) {
  HeaderGuard guard;
  return guard.Admit(bytes);
}

// However the bytes come.
bool AdmitsOneByOne(const std::string& bytes) {
  HeaderGuard guard;
  for (const char& byte : bytes) {
    if (!guard.Admit(absl::string_view(&byte, 1))) return false;
  }
  return true;
}

TEST(HeaderGuardTest, RequestsOfAnySizeAndNumberAreAdmitted) {
  std::string bytes = Acknowledged();
  for (int i = 0; i < 1000; ++i) bytes += Frame(kHeaders, 200) + Frame(kData, 16384);
  EXPECT_TRUE(Admits(bytes));
  EXPECT_TRUE(AdmitsOneByOne(bytes));
}

TEST(HeaderGuardTest, AHeaderOfAWholeFrameIsAdmittedSoThatGrpcCanAnswer) {
  EXPECT_TRUE(Admits(Acknowledged() + Frame(kHeaders, HeaderGuard::kMostBytes)));
}

TEST(HeaderGuardTest, AHeaderInManyFramesIsCountedAsOne) {
  std::string bytes = Acknowledged() + Frame(kHeaders, 1000);
  for (int i = 0; i < 10; ++i) bytes += Frame(kContinuation, 1000);
  EXPECT_TRUE(Admits(bytes));
  for (int i = 0; i < 10; ++i) bytes += Frame(kContinuation, 1000);
  EXPECT_FALSE(Admits(bytes));
  EXPECT_FALSE(AdmitsOneByOne(bytes));
}

TEST(HeaderGuardTest, EmptyFramesCountToo) {
  std::string bytes = Acknowledged() + Frame(kHeaders, 0);
  for (int i = 0; i < 2000; ++i) bytes += Frame(kContinuation, 0);
  EXPECT_FALSE(Admits(bytes));
}

TEST(HeaderGuardTest, BeforeTheSettingsAreAcknowledgedAllHeadersTogetherAreBounded) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += Frame(kHeaders, 1000);
  EXPECT_FALSE(Admits(Opening() + bytes));
  EXPECT_TRUE(Admits(Acknowledged() + bytes));
}

TEST(HeaderGuardTest, WhatIsInAMessageIsNoHeader) {
  const std::string inner = Frame(kContinuation, HeaderGuard::kMostBytes);
  std::string data = Frame(kData, static_cast<uint32_t>(4 * inner.size()));
  data.resize(9);
  EXPECT_TRUE(Admits(Acknowledged() + data + inner + inner + inner + inner));
}

TEST(HeaderGuardTest, NothingIsAdmittedAfterwards) {
  HeaderGuard guard;
  EXPECT_FALSE(guard.Admit(Acknowledged() + Frame(kHeaders, 2 * HeaderGuard::kMostBytes)));
  EXPECT_FALSE(guard.Admit(Frame(kData, 1)));
}

// Records of TLS, taken for frames, would soon be too long. gRPC does not take them for HTTP/2
// where it serves none.
TEST(HeaderGuardTest, LeavesTlsAlone) {
  std::string records("\x16\x03\x01\x02\x00", 5);
  for (int i = 0; i < 1 << 20; ++i) records.push_back(static_cast<char>(i * 2654435761u >> 13));
  EXPECT_TRUE(Admits(records));
  EXPECT_TRUE(AdmitsOneByOne(records));
}

}  // namespace
}  // namespace muster::daemon
