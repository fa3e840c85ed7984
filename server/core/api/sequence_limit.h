#ifndef MUSTER_SERVER_CORE_API_SEQUENCE_LIMIT_H_
#define MUSTER_SERVER_CORE_API_SEQUENCE_LIMIT_H_

#include <cstdint>

namespace muster::core {

// The bound on sequence numbers from peers. Counting on from a larger number might overflow.
// (validation.h has the bound on epoch numbers and tokens.)
inline constexpr uint64_t kMaxSequence = uint64_t{1} << 62;

// Returns whether the number after this one is still within the bound. So this daemon accepts it,
// and so does a later one that knows it from a claim only.
inline bool HasSuccessor(uint64_t number) { return number < kMaxSequence; }

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_SEQUENCE_LIMIT_H_
