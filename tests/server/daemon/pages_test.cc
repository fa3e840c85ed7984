// The pages that a real musterd serves over HTTP, and their address.
#include <csignal>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/daemon.h"
#include "tests/util/network/http.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Exit kBadConfiguration{false, 64};
constexpr Exit kFailed{false, 1};

// A musterd that serves metrics on a free port.
struct Scraped {
  explicit Scraped(const std::string& listen)
      : port_file(absl::StrCat(MakeTempDir(), "/metrics-port")),
        daemon(TestDaemon::Start({absl::StrCat("--metrics-listen=", listen),
                                  absl::StrCat("--metrics-port-file=", port_file)})) {
    EXPECT_TRUE(absl::SimpleAtoi(ReadFile(port_file), &port)) << port_file;
  }

  const std::string port_file;
  const std::unique_ptr<TestDaemon> daemon;
  int port = 0;
};

TEST(PagesTest, MetricsAreServedWhereTheLogSays) {
  const Scraped scraped(":0");
  EXPECT_TRUE(scraped.daemon->process().WaitForOutput(
      absl::StrCat("serving metrics at http://127.0.0.1:", scraped.port, "/metrics")));
  EXPECT_TRUE(scraped.daemon->process().WaitForOutput("world size"));
  EXPECT_THAT(scraped.daemon->process().Output(), Not(HasSubstr("need no credentials")));
  const HttpResponse answer = Get(scraped.port, "/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(answer.body, HasSubstr("\nmuster_build_info{version=\""));
  for (const char* name :
       {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
        "process_max_fds", "process_start_time_seconds", "process_threads"}) {
    EXPECT_THAT(answer.body, HasSubstr(absl::StrCat("\n", name, " "))) << answer.body;
  }
}

TEST(PagesTest, ThePortFileGoesWithTheDaemon) {
  const Scraped scraped("127.0.0.1:0");
  scraped.daemon->process().Signal(SIGTERM);
  EXPECT_EQ(scraped.daemon->process().Wait(), (Exit{false, 0}));
  EXPECT_EQ(ReadFile(scraped.port_file), "");
}

TEST(PagesTest, AReachableAddressIsLoggedWithWhatOthersCanRead) {
  const Scraped scraped("0.0.0.0:0");
  EXPECT_TRUE(scraped.daemon->process().WaitForOutput("metrics need no credentials"));
  EXPECT_THAT(
      scraped.daemon->process().Output(),
      AllOf(HasSubstr(absl::StrCat("0.0.0.0:", scraped.port)), HasSubstr("change nothing")));
}

TEST(PagesTest, NothingIsServedByDefault) {
  const auto daemon = TestDaemon::Start();
  EXPECT_TRUE(daemon->process().WaitForOutput("world size"));
  EXPECT_THAT(daemon->process().Output(), Not(HasSubstr("http")));
}

TEST(PagesTest, MalformedAddressesAreNamedWithTheExpectedForm) {
  for (const char* text : {"9100x", "host", ":", "70000", "::1:9100"}) {
    const auto musterd =
        Process::Start({MusterdPath(), "--listen=127.0.0.1:0", "--metrics-listen", text});
    EXPECT_EQ(musterd->Wait(), kBadConfiguration) << text;
    EXPECT_THAT(musterd->Output(), AllOf(HasSubstr("--metrics-listen"), HasSubstr(text),
                                         HasSubstr("a port alone, such as 9100")));
  }
}

TEST(PagesTest, APortThatIsTakenEndsTheDaemonWithWhatToDo) {
  const Scraped scraped(":0");
  const auto musterd = Process::Start(
      {MusterdPath(), "--listen=127.0.0.1:0", absl::StrCat("--metrics-listen=", scraped.port)});
  EXPECT_EQ(musterd->Wait(), kFailed);
  EXPECT_THAT(musterd->Output(), AllOf(HasSubstr("another process uses this port"),
                                       HasSubstr("another port with --metrics-listen")));
}

TEST(PagesTest, APortFileWithoutAPortIsRefused) {
  const auto musterd =
      Process::Start({MusterdPath(), "--listen=127.0.0.1:0", "--metrics-port-file=port"});
  EXPECT_EQ(musterd->Wait(), kBadConfiguration);
  EXPECT_THAT(musterd->Output(), HasSubstr("--metrics-port-file: there is no port to write "
                                           "without --metrics-listen"));
}

TEST(PagesTest, APortFileThatCannotBeWrittenIsNamed) {
  const auto musterd = Process::Start({MusterdPath(), "--listen=127.0.0.1:0", "--metrics-listen=:0",
                                       "--metrics-port-file=/no/such/folder/port"});
  EXPECT_EQ(musterd->Wait(), kBadConfiguration);
  EXPECT_THAT(musterd->Output(),
              HasSubstr("--metrics-port-file: cannot write /no/such/folder/port"));
}

}  // namespace
}  // namespace muster::testing
