#include "tests/client/nccl/rank/held_cuda_resources.h"
#include "tests/client/nccl/rank/held_resources.h"

namespace muster::testing {

std::string HeldResources() { return HeldCudaResources(); }

int NcclThreads() { return 0; }

int NcclCommunicators() { return 0; }

std::optional<int> MaxCtasOf(ncclComm_t) { return std::nullopt; }

}  // namespace muster::testing
