#include "tests/bench/common/address_layout.h"

#include <sys/personality.h>
#include <unistd.h>

namespace muster::testing {
namespace {

constexpr unsigned long kAsk = 0xffffffff;  // makes personality() change nothing

}  // namespace

void RestartWithFixedAddresses(char** argv) {
  if (HasFixedAddresses()) return;
  if (personality(static_cast<unsigned long>(personality(kAsk)) | ADDR_NO_RANDOMIZE) < 0) return;
  execv("/proc/self/exe", argv);
}

bool HasFixedAddresses() { return (personality(kAsk) & ADDR_NO_RANDOMIZE) != 0; }

}  // namespace muster::testing
