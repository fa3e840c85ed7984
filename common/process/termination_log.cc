#include "common/process/termination_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/text/utf8.h"

namespace muster {
namespace {

constexpr char kDefaultPath[] = "/dev/termination-log";
// The number of bytes that Kubernetes reads.
constexpr size_t kMaxBytes = 4096;

// Returns one line, cut off before a character that does not fit.
std::string Line(absl::string_view reason) {
  std::string line(absl::StripAsciiWhitespace(reason));
  for (char& c : line) {
    if (absl::ascii_iscntrl(c)) c = ' ';
  }
  return absl::StrCat(TruncateUtf8(line, kMaxBytes - 1), "\n");
}

}  // namespace

void WriteTerminationLog(absl::string_view reason) {
  if (reason.empty()) return;
  const char* const named = std::getenv("MUSTER_TERMINATION_LOG");
  const std::string path = named == nullptr ? kDefaultPath : named;
  if (path.empty()) return;
  // The default file is never created: if it does not exist, no scheduler reads it.
  const int create = named == nullptr ? 0 : O_CREAT;
  const int fd =
      open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | create, 0644);
  if (fd < 0) return;
  const std::string line = Line(reason);
  [[maybe_unused]] const ssize_t written = write(fd, line.data(), line.size());
  close(fd);
}

}  // namespace muster
