#ifndef MUSTER_COMMON_PROCESS_SECRET_H_
#define MUSTER_COMMON_PROCESS_SECRET_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "common/random_bytes.h"

// What proves who a member is, and what names it. A process has a secret, which only itself, its
// launcher and the coordinator see; everybody may know the incarnation that is made of it. So a
// coordinator needs nothing but the two to see that they belong together, one that was restarted
// too.
namespace muster {

inline constexpr size_t kProcessSecretBytes = 16;
inline constexpr size_t kIncarnationBytes = 16;

inline std::string NewProcessSecret() { return RandomBytes(kProcessSecretBytes); }

// The first 16 bytes of the secret's SHA-256.
std::string IncarnationOf(absl::string_view secret);

}  // namespace muster

#endif  // MUSTER_COMMON_PROCESS_SECRET_H_
