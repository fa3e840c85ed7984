#ifndef MUSTER_COMMON_PROCESS_SECRET_H_
#define MUSTER_COMMON_PROCESS_SECRET_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

// What proves who a member is, and what names it. A process has a secret, which only itself, its
// launcher and the coordinator see; everybody may know the incarnation that is made of it. So a
// coordinator needs nothing but the two to see that they belong together, one that was restarted
// too.
namespace muster {

inline constexpr size_t kProcessSecretBytes = 16;
inline constexpr size_t kIncarnationBytes = 16;

// Bytes that nobody can guess, from the kernel. Blocks only while a machine that is being started
// has none yet.
std::string RandomBytes(size_t count);
uint64_t RandomNumber();

inline std::string NewProcessSecret() { return RandomBytes(kProcessSecretBytes); }

// The first 16 bytes of the secret's SHA-256.
std::string IncarnationOf(absl::string_view secret);

}  // namespace muster

#endif  // MUSTER_COMMON_PROCESS_SECRET_H_
