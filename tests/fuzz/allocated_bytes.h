#ifndef MUSTER_TESTS_FUZZ_ALLOCATED_BYTES_H_
#define MUSTER_TESTS_FUZZ_ALLOCATED_BYTES_H_

#include <cstddef>

namespace muster::fuzz {

// Bytes that the program has allocated and not freed, to some hundred KiB: the C library keeps a
// few freed ones back.
size_t AllocatedBytes();

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_ALLOCATED_BYTES_H_
