// Tests against a fake of NCCL's RAS, whose protocol is a few lines. A thread plays it.

#include "client/observe/bundle/ras_client.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/process/wall_clock.h"

namespace muster::observe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// A server of NCCL's RAS. Answers each line with `answer(line)`, or not at all if that is empty.
// Closes the connection after a STATUS.
class FakeRas {
 public:
  using Answer = std::function<std::string(const std::string& line)>;

  explicit FakeRas(Answer answer) : answer_(std::move(answer)) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 8), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeRas() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }

  uint16_t port() const { return port_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void Serve() {
    for (int peer; (peer = accept(fd_, nullptr, nullptr)) >= 0;) {
      Talk(peer);
      close(peer);
    }
  }

  void Talk(int peer) {
    std::string line;
    for (char c; read(peer, &c, 1) == 1;) {
      if (c != '\n') {
        line += c;
        continue;
      }
      lines_.push_back(line);
      const std::string text = answer_(line);
      if (send(peer, text.data(), text.size(), MSG_NOSIGNAL) < 0) return;
      if (absl::EndsWith(line, "STATUS")) return;
      line.clear();
    }
  }

  const Answer answer_;
  int fd_ = -1;
  uint16_t port_ = 0;
  std::vector<std::string> lines_;
  std::thread thread_;
};

std::string AnswerOf228(const std::string& line) {
  if (absl::StartsWith(line, "CLIENT PROTOCOL")) return "SERVER PROTOCOL 2\n";
  if (absl::EndsWith(line, "STATUS")) return "{\"nccl_version\": \"2.28.9\"}\n";
  return "OK\n";
}

TEST(RasClientTest, RequestsJsonWithATimeout) {
  std::vector<std::string> lines;
  {
    FakeRas ras(AnswerOf228);
    const auto report = QueryRas(kRasHost, ras.port(), absl::Seconds(30), 1000);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->json);
    EXPECT_EQ(report->text, "{\"nccl_version\": \"2.28.9\"}\n");
    lines = ras.lines();
  }
  EXPECT_THAT(lines, ElementsAre("CLIENT PROTOCOL 2", StartsWith("TIMEOUT 2"), "SET FORMAT json",
                                 "VERBOSE STATUS"));
}

TEST(RasClientTest, AcceptsTextFromAnOlderNccl) {
  FakeRas ras([](const std::string& line) -> std::string {
    if (absl::StartsWith(line, "CLIENT PROTOCOL")) return "SERVER PROTOCOL 2\n";
    if (absl::StartsWith(line, "SET FORMAT")) return "ERROR: Unknown command\n";
    return absl::EndsWith(line, "STATUS") ? "Job summary\n" : "OK\n";
  });
  const auto report = QueryRas(kRasHost, ras.port(), absl::Seconds(30), 1000);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->json);
  EXPECT_EQ(report->text, "Job summary\n");
}

TEST(RasClientTest, BoundsTheReport) {
  FakeRas ras([](const std::string& line) {
    return absl::EndsWith(line, "STATUS") ? std::string(100000, 'x') : AnswerOf228(line);
  });
  const auto report = QueryRas(kRasHost, ras.port(), absl::Seconds(30), 1000);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->text, SizeIs(1000));
}

TEST(RasClientTest, ASilentPeerTimesOut) {
  FakeRas ras([](const std::string&) { return ""; });
  EXPECT_EQ(QueryRas(kRasHost, ras.port(), absl::Milliseconds(200), 1000).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(RasClientTest, AWallClockJumpEndsNoWait) {
  FakeRas ras(AnswerOf228);
  const testing::JumpingWallClock clock;
  const auto report = QueryRas(kRasHost, ras.port(), absl::Minutes(1), 1000);
  EXPECT_TRUE(report.ok()) << report.status();
}

TEST(RasClientTest, AnotherServerIsNotMistakenForNccl) {
  FakeRas ras([](const std::string&) { return "HTTP/1.1 400 Bad Request\r\n"; });
  const absl::Status status = QueryRas(kRasHost, ras.port(), absl::Seconds(30), 1000).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("not NCCL"));
}

TEST(RasClientTest, WithoutAListenerIsUnavailable) {
  uint16_t port = 0;
  { port = FakeRas(AnswerOf228).port(); }
  EXPECT_EQ(QueryRas(kRasHost, port, absl::Seconds(30), 1000).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace muster::observe
