#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_CONFIG_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_CONFIG_H_

#include <nccl.h>

namespace fake_nccl {

// Reads whether the configuration asks for a communicator that blocks, or `otherwise` if it does
// not say.
ncclResult_t ReadBlocking(const ncclConfig_t* config, bool otherwise, bool* blocking);

// Allocates a communicator's memory on its device, which becomes the calling thread's current one.
ncclResult_t AllocateDeviceMemory(ncclComm_t comm);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_CONFIG_H_
