#ifndef MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_RING_H_
#define MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_RING_H_

#include <vector>

#include "tests/nccl/real/kernels/block.h"
#include "tests/nccl/real/kernels/function.h"

namespace cpu_nccl {

// Runs a block's part of one collective around the ring of its channel. Ends the process if the
// work asks for another algorithm or protocol, or for registered buffers.
void RunRing(Block& block, const Function& function, ncclDevWorkColl work);

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
// Runs broadcasts from several roots, which NCCL makes from grouped ncclBroadcast calls.
void RunBroadcasts(Block& block, const Function& function, std::vector<ncclDevWorkBcast> works);
#endif

}  // namespace cpu_nccl

#endif  // MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_RING_H_
