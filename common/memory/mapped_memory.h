#ifndef MUSTER_COMMON_MEMORY_MAPPED_MEMORY_H_
#define MUSTER_COMMON_MEMORY_MAPPED_MEMORY_H_

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

// A range of pages from mmap(), unmapped at the end of this object. Movable.
class MappedMemory {
 public:
  // Calls mmap() at an address that the system chooses, from the start of the file that
  // `descriptor` has open, or without a file for -1 and MAP_ANONYMOUS. `size` must not be 0. An
  // error has the text `failure` ("cannot map shared memory at ...") and the system's reason.
  static absl::StatusOr<MappedMemory> Map(int descriptor, size_t size, int protection, int flags,
                                          absl::string_view failure);

  MappedMemory() = default;  // no pages
  ~MappedMemory();
  MappedMemory(MappedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  void* data() const { return data_; }  // null if there are no pages
  size_t size() const { return size_; }

 private:
  MappedMemory(void* data, size_t size) : data_(data), size_(size) {}

  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace muster

#endif  // MUSTER_COMMON_MEMORY_MAPPED_MEMORY_H_
