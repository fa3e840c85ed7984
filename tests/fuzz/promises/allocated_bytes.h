#ifndef MUSTER_TESTS_FUZZ_PROMISES_ALLOCATED_BYTES_H_
#define MUSTER_TESTS_FUZZ_PROMISES_ALLOCATED_BYTES_H_

#include <cstddef>

namespace muster::fuzz {

// Returns the bytes that the program has allocated and not freed. Some hundred KiB too many are
// possible, since the C library keeps a few freed bytes.
size_t AllocatedBytes();

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_PROMISES_ALLOCATED_BYTES_H_
