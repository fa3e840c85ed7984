#include "tests/client/errors/plain_text.h"

#include <regex>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"

namespace muster::testing {

std::string PlainText(absl::string_view text) {
  static const auto* const places = new std::vector<std::pair<std::regex, std::string>>{
      {std::regex("pid [0-9]+"), "pid PID"},
      {std::regex("process [0-9]{3,}"), "process PID"},
      {std::regex("127\\.0\\.0\\.1:[0-9]{2,5}"), "127.0.0.1:PORT"},
      {std::regex("/[^ ']*/muster-[A-Za-z0-9]{6}"), "DIR"},
      {std::regex("[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z"), "TIME"},
      {std::regex("[0-9.]+(e-[0-9]+)?m?s ago"), "TIME ago"},
      {std::regex("token [0-9]{10,}"), "token TOKEN"},
      {std::regex("host [-._A-Za-z0-9]+, pid"), "host HOST, pid"},
      {std::regex("for [0-9.]+m?s under token"), "for TIME under token"},
      {std::regex("waited 0(\\.[0-9]+)?s"), "waited TIME"},
      {std::regex("[a-z_]+\\.cc:[0-9]+"), "FILE:N"},
      {std::regex("failed to connect to all addresses; last error: [^;)]*"), "GRPC"},
  };
  std::string plain(absl::StripTrailingAsciiWhitespace(text));
  for (const auto& [place, word] : *places) plain = std::regex_replace(plain, place, word);
  return plain;
}

}  // namespace muster::testing
