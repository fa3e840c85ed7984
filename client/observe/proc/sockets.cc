#include "client/observe/proc/sockets.h"

#include <arpa/inet.h>

#include <cstring>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/observe/proc/proc.h"

namespace muster::observe {
namespace {

constexpr size_t kMaxTableBytes = 4 << 20;
constexpr char kListens[] = "0A";

// Describes the socket with this inode from a line of the table. Returns "" if the line is about
// another socket.
std::string DescribeLine(absl::string_view line, absl::string_view inode) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (words.size() < 10 || words[9] != inode) return "";
  if (words[3] == kListens) {
    return absl::StrCat("a TCP port, ", ReadableAddress(words[1]), ", that it listens at");
  }
  return absl::StrCat("a TCP connection to ", ReadableAddress(words[2]));
}

}  // namespace

std::string ReadableAddress(absl::string_view address) {
  const std::vector<absl::string_view> parts = absl::StrSplit(address, ':');
  uint32_t port = 0;
  if (parts.size() != 2 || parts[0].size() % 8 != 0 || parts[0].size() > 32 ||
      !absl::SimpleHexAtoi(parts[1], &port)) {
    return std::string(address);
  }
  // Each word is in this machine's byte order, and its bytes are an address in network byte order.
  std::string bytes;
  for (size_t i = 0; i < parts[0].size(); i += 8) {
    uint32_t word = 0;
    if (!absl::SimpleHexAtoi(parts[0].substr(i, 8), &word)) return std::string(address);
    bytes.append(reinterpret_cast<const char*>(&word), sizeof(word));
  }
  const bool six = bytes.size() == 16;
  char text[INET6_ADDRSTRLEN] = {};
  if (inet_ntop(six ? AF_INET6 : AF_INET, bytes.data(), text, sizeof(text)) == nullptr) {
    return std::string(address);
  }
  return six ? absl::StrCat("[", text, "]:", port) : absl::StrCat(text, ":", port);
}

std::string DescribeSocket(pid_t pid, absl::string_view link) {
  absl::ConsumePrefix(&link, "socket:[");
  absl::ConsumeSuffix(&link, "]");
  for (const char* table : {"tcp", "tcp6"}) {
    const std::string text = ReadFile(absl::StrCat("/proc/", pid, "/net/", table), kMaxTableBytes);
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      if (std::string found = DescribeLine(line, link); !found.empty()) return found;
    }
  }
  return "a socket";
}

}  // namespace muster::observe
