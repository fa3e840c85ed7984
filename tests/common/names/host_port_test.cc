// Tests of addresses of the form HOST:PORT, and of the errors for malformed ones.
#include "common/names/host_port.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

TEST(HostPortTest, AcceptsNamesAndLiterals) {
  EXPECT_EQ(ParseHostPort("head-0.svc:7370")->host, "head-0.svc");
  EXPECT_EQ(ParseHostPort("127.0.0.1:1")->port, 1);
  EXPECT_TRUE(ParseHostPort("127.0.0.1:1")->is_ipv4());
  EXPECT_EQ(ParseHostPort("[fd00::7]:7370")->host, "fd00::7");
  EXPECT_TRUE(ParseHostPort("[fd00::7]:7370")->is_ipv6());
  EXPECT_EQ(ParseHostPort("[fd00::7]:7370")->ToString(), "[fd00::7]:7370");
}

TEST(HostPortTest, RejectsMalformedText) {
  for (const char* text : {"", "host", ":7370", "host:", "host:0", "host:65536", "host:x",
                           "::1:7370", "[host]:1", "[::1:1", "http://host:1", "a b:1"}) {
    EXPECT_EQ(ParseHostPort(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(HostPortTest, Parses) {
  const auto name = ParseHostPort("head.cluster:7370");
  ASSERT_TRUE(name.ok()) << name.status();
  EXPECT_EQ(name->host, "head.cluster");
  EXPECT_EQ(name->port, 7370);
  const auto ipv6 = ParseHostPort("[::1]:1");
  ASSERT_TRUE(ipv6.ok()) << ipv6.status();
  EXPECT_EQ(ipv6->host, "::1");
  EXPECT_EQ(ipv6->ToString(), "[::1]:1");
}

TEST(HostPortTest, ErrorShowsTheExpectedForm) {
  for (const char* text :
       {"", ":", "head", "head:", ":7370", "head:0", "head:65536", "head:-1", "head:7x", "head: 7",
        "::1:7370", "[]:7370", "[::1]", "he ad:7370", "http://head:7370", "head:+7"}) {
    const auto parsed = ParseHostPort(text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(parsed.status().message()),
                HasSubstr("expected host:port or [ipv6]:port"));
  }
}

TEST(HostPortTest, ErrorSaysToOmitTheScheme) {
  for (const char* text : {"http://127.0.0.1:7370", "http://head:7370/"}) {
    EXPECT_THAT(std::string(ParseHostPort(text).status().message()),
                HasSubstr("is not a valid address: leave out http://; expected host:port"));
  }
}

TEST(MetricsAddressTest, PortAloneMeansLoopback) {
  for (const char* text : {"9100", ":9100", "127.0.0.1:9100"}) {
    const auto parsed = ParseMetricsAddress(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->ToString(), "127.0.0.1:9100");
  }
  EXPECT_EQ(ParseMetricsAddress("0.0.0.0:0")->ToString(), "0.0.0.0:0");
  for (const char* text : {"", ":", "host", ":65536", "-1", "::9100"}) {
    EXPECT_THAT(std::string(ParseMetricsAddress(text).status().message()),
                HasSubstr("or a port alone, such as 9100, for this machine only"))
        << text;
  }
}

TEST(MetricsAddressTest, ErrorShowsTheRangeOfPorts) {
  EXPECT_THAT(std::string(ParseMetricsAddress(":99999").status().message()),
              HasSubstr("the port is not a number from 0 to 65535"));
}

TEST(LoopbackIfWildcardTest, ReplacesOnlyWildcards) {
  EXPECT_EQ(LoopbackIfWildcard({"0.0.0.0", 1}).host, "127.0.0.1");
  EXPECT_EQ(LoopbackIfWildcard({"::", 1}).ToString(), "[::1]:1");
  EXPECT_EQ(LoopbackIfWildcard({"10.0.0.7", 1}).host, "10.0.0.7");
}

TEST(ParsePeerTest, ReturnsTheAddress) {
  EXPECT_EQ(ParsePeer("ipv4:10.0.0.7:5512")->ToString(), "10.0.0.7:5512");
  EXPECT_EQ(ParsePeer("ipv6:%5B::1%5D:5512")->ToString(), "[::1]:5512");
  EXPECT_FALSE(ParsePeer("unix:/tmp/socket").has_value());
}

TEST(ParsePeerHostTest, OmitsThePort) {
  EXPECT_EQ(ParsePeerHost("ipv4:10.0.0.7:5512"), "10.0.0.7");
  EXPECT_EQ(ParsePeerHost("ipv6:%5B::1%5D:5512"), "::1");
  EXPECT_EQ(ParsePeerHost("ipv6:[fe80::1]:5512"), "fe80::1");
  EXPECT_EQ(ParsePeerHost("unix:/tmp/socket"), "");
}

}  // namespace
}  // namespace muster
