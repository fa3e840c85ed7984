#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_OPERATIONS_REDUCE_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_OPERATIONS_REDUCE_H_

#include <nccl.h>

#include <cstddef>
#include <vector>

namespace fake_nccl {

// Returns the bytes of an element, or 0 for an unknown type.
size_t SizeOf(ncclDataType_t type);

// Writes op over `in`, one buffer for each rank, to `out`. Averages are NCCL's: floating-point
// values are scaled by 1/n before they are added, and sums of integers are divided.
void Reduce(const std::vector<const char*>& in, size_t count, ncclDataType_t type, ncclRedOp_t op,
            char* out);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_OPERATIONS_REDUCE_H_
