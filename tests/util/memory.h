#ifndef MUSTER_TESTS_UTIL_MEMORY_H_
#define MUSTER_TESTS_UTIL_MEMORY_H_

#include <sys/types.h>

#include <cstdint>

namespace muster::testing {

// The address sanitizer has an allocator of its own, which keeps what is freed.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kFreedMemoryIsKept = true;
#else
inline constexpr bool kFreedMemoryIsKept = false;
#endif

// What of a process is in memory, in bytes: now, and at most so far. 0 if there is no such process.
uint64_t ResidentBytes(pid_t pid);
uint64_t PeakResidentBytes(pid_t pid);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_MEMORY_H_
