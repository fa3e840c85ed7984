#include "tests/nccl/real/kernels/kernel_memory.h"

#include <nccl.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace cpu_nccl {

void Refuse(const char* format, ...) {
  std::fprintf(stderr, "NCCL %d.%d.%d on CPUs: VIOLATION: ", NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::abort();
}

void* Memory::Bytes(const void* pointer, size_t bytes, const char* what) const {
  void* const found = reach_(pointer, bytes);
  if (found == nullptr) {
    Refuse("a kernel uses %s at %p (%zu bytes), which its GPU cannot reach", what, pointer, bytes);
  }
  return found;
}

}  // namespace cpu_nccl
