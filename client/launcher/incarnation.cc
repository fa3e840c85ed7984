#include "client/launcher/incarnation.h"

#include <sys/random.h>

namespace muster::launcher {
namespace {

constexpr size_t kIncarnationBytes = 16;

}  // namespace

std::string NewIncarnation() {
  std::string bytes(kIncarnationBytes, '\0');
  while (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
  }
  return bytes;
}

}  // namespace muster::launcher
