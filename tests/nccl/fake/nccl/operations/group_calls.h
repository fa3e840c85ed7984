#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_OPERATIONS_GROUP_CALLS_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_OPERATIONS_GROUP_CALLS_H_

#include <nccl.h>

#include <functional>

#include "tests/nccl/fake/nccl/operations/nccl_operation.h"

namespace fake_nccl {

// Adds a job for this thread's outermost ncclGroupEnd. If the communicator does not block, the job
// runs on its own thread, and the state is ncclInProgress meanwhile.
void AddJob(ncclComm_t comm, std::function<ncclResult_t()> job);

// Adds the freeing of a communicator to the group. Freeing always blocks.
void AddFreeing(ncclComm_t comm, std::function<void()> free);

// Adds an operation. All operations of a communicator in one group are one launch.
void AddOperation(ncclComm_t comm, const Operation& operation);

// Runs the body of a function of NCCL. A group begins and ends here, unless the program has opened
// one. `comm` is the communicator, or the place where it will be stored, or null for functions that
// free it. Returns what the function returns: its state, if the communicator does not block.
ncclResult_t RunInGroup(const ncclComm_t* comm, const std::function<ncclResult_t()>& body);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_OPERATIONS_GROUP_CALLS_H_
