#ifndef MUSTER_CLIENT_SRC_NODE_SHARED_REGION_H_
#define MUSTER_CLIENT_SRC_NODE_SHARED_REGION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/memory/mapped_memory.h"
#include "common/memory/shared_memory_file.h"

namespace muster::internal {

// The shared memory of one communicator. One rank makes it, the other ranks of the node open it,
// and then any of them calls Unlink(). The kernel frees the memory when the last process has ended,
// however it ends. If all processes are killed before Unlink(), the next Make() of the same user
// removes the name. Callers: client/gloo and client/nccl, whose tests cover it.
class SharedRegion {
 public:
  // Returns a random name, which no other process has.
  static std::string NewName();
  // Returns the name for 128 bits that all ranks know.
  static std::string NameOf(uint64_t high, uint64_t low);

  // Creates the region. It is zero-filled and fully reserved up front, so later accesses cannot
  // raise SIGBUS.
  static absl::StatusOr<std::unique_ptr<SharedRegion>> Make(absl::string_view name, size_t size);
  // Opens the region. Returns NOT_FOUND if no rank has made it, or if this process sees another
  // /dev/shm.
  static absl::StatusOr<std::unique_ptr<SharedRegion>> Open(absl::string_view name, size_t size);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  void* data() const { return memory_.data(); }

  // Removes the name, if it is still there. Any rank may do this once all ranks have opened the
  // region.
  void Unlink();

 private:
  SharedRegion(SharedMemoryFile file, MappedMemory memory);
  static absl::StatusOr<std::unique_ptr<SharedRegion>> Map(absl::StatusOr<SharedMemoryFile> file,
                                                           size_t size);

  std::optional<SharedMemoryFile> file_;  // its lock marks the file as in use; unset after Unlink()
  const MappedMemory memory_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_SHARED_REGION_H_
