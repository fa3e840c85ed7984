// The address of --listen: parsing, writing, and which addresses are loopback.

#include "server/service/base/listen_address.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::service {
namespace {

HostPort Parsed(const char* text) {
  const auto address = ParseListenAddress(text);
  EXPECT_TRUE(address.ok()) << address.status();
  return address.ok() ? *address : HostPort();
}

TEST(ListenAddressTest, ReadsHostAndPort) {
  EXPECT_EQ(Parsed("127.0.0.1:7370").host, "127.0.0.1");
  EXPECT_EQ(Parsed("127.0.0.1:7370").port, 7370);
  EXPECT_EQ(Parsed("[::1]:0").host, "::1");
  EXPECT_EQ(Parsed("localhost:65535").port, 65535);
}

TEST(ListenAddressTest, RoundTrips) {
  for (const char* text : {"127.0.0.1:7370", "[::1]:0", "localhost:1", "[fe80::1%eth0]:9"}) {
    EXPECT_EQ(Parsed(text).ToString(), text);
  }
}

TEST(ListenAddressTest, RejectsMalformedAddresses) {
  for (const char* text :
       {"", "7370", ":7370", "host", "host:", "host:http", "host:-1", "host:65536", "::1:7370",
        "[::1]", "[::1]7370", "[::1:7370", "[host]:1"}) {
    const auto address = ParseListenAddress(text);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(address.status().message()),
                ::testing::HasSubstr("expected host:port or [ipv6]:port, such as 127.0.0.1:7370"));
  }
}

TEST(ListenAddressTest, KnowsLoopback) {
  for (const char* text : {"127.0.0.1:1", "127.8.9.10:1", "[::1]:1", "localhost:1", "LocalHost:1",
                           "[::ffff:127.0.0.1]:1"}) {
    EXPECT_TRUE(IsLoopback(Parsed(text))) << text;
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "128.0.0.1:1", "[fe80::1]:1",
                           "node7:1", "localhost.example:1", "[::ffff:10.0.0.1]:1"}) {
    EXPECT_FALSE(IsLoopback(Parsed(text))) << text;
  }
}

}  // namespace
}  // namespace muster::service
