#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_PROFILER_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_PROFILER_H_

#include <nccl.h>

#include <vector>

#include "tests/nccl/fake/nccl/operation.h"

namespace fake_nccl {

// What a profiler plug-in (NCCL_PROFILER_PLUGIN) is told, as NCCL does from 2.27.3 on by version 4
// of the interface. Without a plug-in nothing is done.

// Of a communicator that is initialized, and of one that is freed.
void ProfileBegin(ncclComm_t comm);
void ProfileEnd(ncclComm_t comm);

// Handles of a kernel's collectives, which the host has given to the device; null for others.
std::vector<void*> ProfileLaunch(ncclComm_t comm, const std::vector<Operation>& operations);

// The parts of a kernel's operations on its channels, from here on; returns their handles.
std::vector<void*> ProfileKernelStart(ncclComm_t comm, const std::vector<void*>& operations);
void ProfileKernelStop(const std::vector<void*>& parts);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_PROFILER_H_
