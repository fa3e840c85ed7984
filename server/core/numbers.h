#ifndef MUSTER_SERVER_CORE_NUMBERS_H_
#define MUSTER_SERVER_CORE_NUMBERS_H_

#include <cstdint>

namespace muster::core {

// The highest sequence number that is believed of a peer: what is counted on from a larger one
// might overflow. (validation.h has the bound on epoch numbers and tokens.)
inline constexpr uint64_t kMaxSequence = uint64_t{1} << 62;

// Whether the number after this one is still believed, by this daemon and by one that is started
// later and knows it from a claim only.
inline bool CanBeCountedOn(uint64_t number) { return number < kMaxSequence; }

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_NUMBERS_H_
