#ifndef MUSTER_COMMON_RPC_STORE_LIMITS_H_
#define MUSTER_COMMON_RPC_STORE_LIMITS_H_

#include <cstddef>

// Limits of the store's protocol that no flag changes. Clients keep to them, because the
// coordinator ends the stream of a request beyond them.
namespace muster {

// The most keys that one operation may wait for, and their bytes together.
inline constexpr size_t kMaxStoreWaitKeys = 65536;
inline constexpr size_t kMaxStoreWaitBytes = 1 << 20;

}  // namespace muster

#endif  // MUSTER_COMMON_RPC_STORE_LIMITS_H_
