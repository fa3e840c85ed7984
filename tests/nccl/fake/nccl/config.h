#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_CONFIG_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_CONFIG_H_

#include <nccl.h>

namespace fake_nccl {

// Whether the configuration asks for a communicator that blocks; `otherwise` where it says nothing.
ncclResult_t ReadBlocking(const ncclConfig_t* config, bool otherwise, bool* blocking);

// What a communicator needs of its device, on the calling thread; the device becomes current.
ncclResult_t TakeDeviceMemory(ncclComm_t comm);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_CONFIG_H_
