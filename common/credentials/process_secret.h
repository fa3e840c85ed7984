#ifndef MUSTER_COMMON_CREDENTIALS_PROCESS_SECRET_H_
#define MUSTER_COMMON_CREDENTIALS_PROCESS_SECRET_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "common/credentials/random_bytes.h"

// The secret that proves a member's identity, and the incarnation that names it. Only the process,
// its launcher and the coordinator see the secret; anybody may know the incarnation, which is a
// hash of it. So the coordinator can check that the two belong together without any state, even
// after a restart.
namespace muster {

inline constexpr size_t kProcessSecretBytes = 16;
inline constexpr size_t kIncarnationBytes = 16;

inline std::string NewProcessSecret() { return RandomBytes(kProcessSecretBytes); }

// Returns the incarnation: the first 16 bytes of the secret's SHA-256.
std::string IncarnationOf(absl::string_view secret);

}  // namespace muster

#endif  // MUSTER_COMMON_CREDENTIALS_PROCESS_SECRET_H_
