#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_PROCESS_FINGERPRINT_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_PROCESS_FINGERPRINT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::internal {

// The versions and settings of this process, for the coordinator. It warns of ranks whose settings
// differ from the others'.
struct ProcessFingerprint {
  // By name: "Muster", "program", "NCCL", and each NCCL_* variable that is set, except secrets and
  // variables that differ between ranks by nature.
  std::map<std::string, std::string> facts;
  std::optional<uint64_t> free_shared_memory;  // bytes in /dev/shm
};

// Returns the fingerprint as of now. Reads /proc and /dev/shm, and otherwise does not block.
ProcessFingerprint OwnFingerprint();

// Registers a fact of a linked library, from a static initializer. `value` is called at each
// Join(). If it returns an empty string, the fact is left out. Returns true.
bool RegisterFact(absl::string_view name, std::string (*value)());

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_PROCESS_FINGERPRINT_H_
