#ifndef MUSTER_COMMON_NAMES_GROUP_DIGEST_H_
#define MUSTER_COMMON_NAMES_GROUP_DIGEST_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster {

inline constexpr size_t kGroupDigestBytes = 16;

// Returns the short name of a group, the same at all its members and at the coordinator. See
// docs/protocol-failure.md, "How groups are forgotten".
std::string GroupDigest(absl::string_view name, absl::Span<const uint32_t> ranks);

}  // namespace muster

#endif  // MUSTER_COMMON_NAMES_GROUP_DIGEST_H_
