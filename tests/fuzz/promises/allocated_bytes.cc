#include "tests/fuzz/promises/allocated_bytes.h"

#include <malloc.h>

// Defined only in programs with a sanitizer's allocator.
extern "C" __attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes();

namespace muster::fuzz {

size_t AllocatedBytes() {
  if (__sanitizer_get_current_allocated_bytes != nullptr) {
    return __sanitizer_get_current_allocated_bytes();
  }
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace muster::fuzz
