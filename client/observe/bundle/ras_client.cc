#include "client/observe/bundle/ras_client.h"

#include <arpa/inet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/process/steady_now.h"

namespace muster::observe {
namespace {

constexpr size_t kMaxLineBytes = 1024;

// A connection that exchanges lines, with the protocol of NCCL's own `ncclras`.
class Connection {
 public:
  explicit Connection(absl::Time deadline)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), deadline_(deadline) {}
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  absl::Status Connect(const std::string& host, uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (fd_ < 0 || inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
      return absl::UnavailableError("no socket");
    }
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 &&
        errno != EINPROGRESS) {
      return absl::UnavailableError(strerror(errno));
    }
    if (absl::Status s = Await(POLLOUT); !s.ok()) return s;
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0 ? absl::OkStatus() : absl::UnavailableError(strerror(error));
  }

  absl::Status Send(absl::string_view line) {
    const std::string text = absl::StrCat(line, "\n");
    if (absl::Status s = Await(POLLOUT); !s.ok()) return s;
    const bool sent =
        send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
    return sent ? absl::OkStatus() : absl::UnavailableError(strerror(errno));
  }

  // ReadLine() returns one line; ReadAll() returns everything until the end of the stream.
  absl::StatusOr<std::string> ReadLine() { return Read(kMaxLineBytes, /*one_line=*/true); }
  absl::StatusOr<std::string> ReadAll(size_t max_bytes) {
    return Read(max_bytes, /*one_line=*/false);
  }

 private:
  absl::StatusOr<std::string> Read(size_t max_bytes, bool one_line) {
    std::string text;
    while (text.size() < max_bytes && !(one_line && absl::EndsWith(text, "\n"))) {
      if (absl::Status s = Await(POLLIN); !s.ok()) return s;
      char piece[4096];
      const size_t wanted = std::min(sizeof(piece), max_bytes - text.size());
      const ssize_t size = recv(fd_, piece, wanted, 0);
      if (size == 0) break;
      if (size < 0) return absl::UnavailableError(strerror(errno));
      text.append(piece, size);
    }
    return text;
  }

  absl::Status Await(int16_t events) {
    pollfd poller = {fd_, events, 0};
    const absl::Duration left = std::max(deadline_ - SteadyNow(), absl::ZeroDuration());
    if (poll(&poller, 1, static_cast<int>(absl::ToInt64Milliseconds(left))) > 0) {
      return absl::OkStatus();
    }
    return absl::DeadlineExceededError("it has not answered in time");
  }

  const int fd_;
  const absl::Time deadline_;
};

// Exchanges the greeting, which shows that the peer is NCCL and not another program.
absl::Status Greet(Connection* connection) {
  if (absl::Status s = connection->Send("CLIENT PROTOCOL 2"); !s.ok()) return s;
  const absl::StatusOr<std::string> answer = connection->ReadLine();
  if (!answer.ok()) return answer.status();
  if (absl::StartsWithIgnoreCase(*answer, "SERVER PROTOCOL ")) return absl::OkStatus();
  return absl::UnknownError("what listens there is not NCCL");
}

// Sends a command and returns whether NCCL accepts it with "OK". An older NCCL answers differently
// or closes the connection.
bool Accepts(Connection* connection, absl::string_view command) {
  if (!connection->Send(command).ok()) return false;
  const absl::StatusOr<std::string> answer = connection->ReadLine();
  return answer.ok() && absl::EqualsIgnoreCase(*answer, "OK\n");
}

// Repairs the JSON of NCCL 2.28.9, which omits the comma before the "status" of a missing rank.
std::string WithCommas(std::string text) {
  const std::string next = "\n          \"status\"";
  for (size_t at = text.find(next); at != std::string::npos;
       at = text.find(next, at + next.size())) {
    if (at > 0 && absl::ascii_isdigit(text[at - 1])) text.insert(at, ",");
  }
  return text;
}

absl::StatusOr<RasReport> Query(const std::string& host, uint16_t port, absl::Time deadline,
                                size_t max_bytes, bool json) {
  Connection connection(deadline);
  absl::Status s = connection.Connect(host, port);
  if (s.ok()) s = Greet(&connection);
  if (!s.ok()) return s;
  // Makes NCCL stop waiting for other nodes before our own deadline.
  const int64_t seconds = std::max<int64_t>(1, absl::ToInt64Seconds(deadline - SteadyNow()) - 1);
  Accepts(&connection, absl::StrCat("TIMEOUT ", seconds));
  if (json && !Accepts(&connection, "SET FORMAT json")) {
    return absl::UnimplementedError("it knows no JSON");
  }
  if (s = connection.Send("VERBOSE STATUS"); !s.ok()) return s;
  absl::StatusOr<std::string> text = connection.ReadAll(max_bytes);
  if (!text.ok()) return text.status();
  return RasReport{json, json ? WithCommas(*std::move(text)) : *std::move(text)};
}

}  // namespace

absl::StatusOr<RasReport> QueryRas(const std::string& host, uint16_t port, absl::Duration timeout,
                                   size_t max_bytes) {
  const absl::Time deadline = SteadyNow() + timeout;
  absl::StatusOr<RasReport> report = Query(host, port, deadline, max_bytes, /*json=*/true);
  if (!absl::IsUnimplemented(report.status())) return report;
  return Query(host, port, deadline, max_bytes, /*json=*/false);
}

}  // namespace muster::observe
