#ifndef MUSTER_CLIENT_SRC_NODE_SHARED_REGION_H_
#define MUSTER_CLIENT_SRC_NODE_SHARED_REGION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/mapped_memory.h"
#include "common/shared_memory_file.h"

namespace muster::internal {

// The shared memory of one communicator, which one rank makes and the others open. It has a name
// until Unlink(); the memory goes with the last of them, however they end. Should they all be
// killed before that, the next Make() of this user's takes the name away.
class SharedRegion {
 public:
  // A name that nobody else has.
  static std::string NewName();
  // The name that goes with 128 bits which all ranks know.
  static std::string NameOf(uint64_t high, uint64_t low);

  // All of its memory is there when this returns: there is none to be had later for which there is
  // no room now. Zeros.
  static absl::StatusOr<std::unique_ptr<SharedRegion>> Make(absl::string_view name, size_t size);
  // NOT_FOUND where nobody has made it, or in a /dev/shm that this process does not see.
  static absl::StatusOr<std::unique_ptr<SharedRegion>> Open(absl::string_view name, size_t size);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  void* data() const { return memory_.data(); }

  // Takes the name away, if it is still there. Any rank may do so once all have opened it.
  void Unlink();

 private:
  SharedRegion(SharedMemoryFile file, MappedMemory memory);
  static absl::StatusOr<std::unique_ptr<SharedRegion>> Map(absl::StatusOr<SharedMemoryFile> file,
                                                           size_t size);

  std::optional<SharedMemoryFile> file_;  // as long as it has a name: says that it is in use
  const MappedMemory memory_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_SHARED_REGION_H_
