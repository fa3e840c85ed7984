#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_OPERATIONS_OPERATIONS_KERNEL_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_OPERATIONS_OPERATIONS_KERNEL_H_

#include <nccl.h>

#include <vector>

#include "tests/nccl/fake/nccl/operations/nccl_operation.h"

namespace fake_nccl {

// Puts the operations on their streams as one kernel. As in NCCL, the first operations of a
// communicator connect to the peers before that, and so wait until the peers call theirs.
ncclResult_t Launch(ncclComm_t comm, const std::vector<Operation>& operations);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_OPERATIONS_OPERATIONS_KERNEL_H_
