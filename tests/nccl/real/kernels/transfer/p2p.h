#ifndef MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_P2P_H_
#define MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_P2P_H_

#include <vector>

#include "tests/nccl/real/kernels/block.h"

namespace cpu_nccl {

// Runs this channel's part of all sends and receives of a batch. They progress side by side: a send
// may need the peer's receive, which in turn may need this rank's own receive.
void RunP2p(Block& block, const std::vector<ncclDevWorkP2p>& works);

}  // namespace cpu_nccl

#endif  // MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_P2P_H_
