#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_GROUP_CALLS_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_GROUP_CALLS_H_

#include <nccl.h>

#include <functional>

#include "tests/nccl/fake/nccl/nccl_operation.h"

namespace fake_nccl {

// What the outermost ncclGroupEnd of this thread does: for a communicator that does not block, on a
// thread of its own, with the state ncclInProgress meanwhile.
void AddJob(ncclComm_t comm, std::function<ncclResult_t()> job);

// The same for what always blocks: freeing.
void AddFreeing(ncclComm_t comm, std::function<void()> free);

// All operations of a communicator in one group are one launch.
void AddOperation(ncclComm_t comm, const Operation& operation);

// What every function of NCCL does around its work: the group begins and ends here, unless the
// program has opened one. `comm`: the communicator, or where it will stand; null for what frees it.
// Returns what the function returns: with a communicator that does not block, its state.
ncclResult_t InGroup(const ncclComm_t* comm, const std::function<ncclResult_t()>& body);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_GROUP_CALLS_H_
