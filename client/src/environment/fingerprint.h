#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_FINGERPRINT_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_FINGERPRINT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::internal {

// What this process runs with, for the coordinator, which names whoever runs with something else
// than the others.
struct Fingerprint {
  // By name: "Muster", "program", "NCCL", and each NCCL_* that is set in the environment, but for
  // those that bear a secret or differ from rank to rank by nature.
  std::map<std::string, std::string> facts;
  std::optional<uint64_t> free_shared_memory;  // bytes in /dev/shm
};

// Now. Does not block, but for the files of /proc and /dev/shm.
Fingerprint OwnFingerprint();

// A fact of a library that is linked: called by a static initializer. `value` is called from then
// on whenever a Job is joined; empty: there is nothing to say. Returns true.
bool RegisterFact(absl::string_view name, std::string (*value)());

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_FINGERPRINT_H_
