#include "common/memory/mapped_memory.h"

#include <sys/mman.h>

#include <cerrno>

#include "absl/status/status.h"

namespace muster {

absl::StatusOr<MappedMemory> MappedMemory::Map(int descriptor, size_t size, int protection,
                                               int flags, absl::string_view failure) {
  void* const data = mmap(nullptr, size, protection, flags, descriptor, 0);
  if (data == MAP_FAILED) return absl::ErrnoToStatus(errno, failure);
  return MappedMemory(data, size);
}

MappedMemory::~MappedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace muster
