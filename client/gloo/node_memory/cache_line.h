#ifndef MUSTER_CLIENT_GLOO_NODE_MEMORY_CACHE_LINE_H_
#define MUSTER_CLIENT_GLOO_NODE_MEMORY_CACHE_LINE_H_

#include <cstddef>

namespace muster::internal {

// The bytes that processors exchange at once. Ranks that write to different lines do not slow each
// other down.
inline constexpr size_t kCacheLine = 64;

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_NODE_MEMORY_CACHE_LINE_H_
