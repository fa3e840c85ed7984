#include "tests/util/network/http.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace muster::testing {

HttpConnection::HttpConnection(int port, const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &found) != 0) {
    ADD_FAILURE() << host << " is no address";
    return;
  }
  fd_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(connect(fd_, found->ai_addr, found->ai_addrlen), 0) << "nobody serves port " << port;
  freeaddrinfo(found);
}

HttpConnection::~HttpConnection() {
  if (fd_ >= 0) close(fd_);
}

void HttpConnection::Send(const std::string& bytes) const {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t size = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (size <= 0) return;  // the other side has closed; its answer says why
    sent += static_cast<size_t>(size);
  }
}

std::string HttpConnection::Receive() const {
  std::string bytes;
  char buffer[65536];
  for (ssize_t size; (size = recv(fd_, buffer, sizeof(buffer), 0)) > 0;) {
    bytes.append(buffer, static_cast<size_t>(size));
  }
  return bytes;
}

void HttpConnection::ReceiveSome(size_t bytes) const {
  std::string taken(bytes, '\0');
  static_cast<void>(recv(fd_, taken.data(), taken.size(), MSG_DONTWAIT));
}

HttpResponse ParseHttpResponse(const std::string& bytes) {
  HttpResponse answer;
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(bytes, absl::MaxSplits("\r\n\r\n", 1));
  std::vector<std::string> lines = absl::StrSplit(parts.first, "\r\n");
  const std::vector<std::string> words = absl::StrSplit(lines[0], ' ');
  if (words.size() < 2 || !absl::SimpleAtoi(words[1], &answer.status)) return answer;
  lines.erase(lines.begin());
  for (const std::string& line : lines) {
    const std::pair<std::string, std::string> header =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    answer.headers[absl::AsciiStrToLower(header.first)] = header.second;
  }
  answer.body = parts.second;
  return answer;
}

HttpResponse Exchange(int port, const std::string& request) {
  const HttpConnection connection(port);
  connection.Send(request);
  return ParseHttpResponse(connection.Receive());
}

HttpResponse Get(int port, const std::string& path) {
  return Exchange(port, absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
}

}  // namespace muster::testing
