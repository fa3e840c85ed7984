#include "common/credentials/random_bytes.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>

namespace muster {
namespace {

// The number of bytes that getrandom() returns in one call, even if a signal interrupts it.
constexpr size_t kAtOnce = 256;

}  // namespace

std::string RandomBytes(size_t count) {
  std::string bytes(count, '\0');
  for (size_t filled = 0; filled < count;) {
    const ssize_t more =
        getrandom(bytes.data() + filled, std::min(count - filled, kAtOnce), /*flags=*/0);
    if (more > 0) filled += static_cast<size_t>(more);
  }
  return bytes;
}

uint64_t RandomNumber() {
  uint64_t number = 0;
  const std::string bytes = RandomBytes(sizeof(number));
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

}  // namespace muster
