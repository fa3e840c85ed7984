#ifndef MUSTER_TESTS_CLIENT_NCCL_RANK_HELD_RESOURCES_H_
#define MUSTER_TESTS_CLIENT_NCCL_RANK_HELD_RESOURCES_H_

#include <nccl.h>

#include <optional>
#include <string>

// Counts of what NCCL and CUDA hold in this process, to find leaks. The fake NCCL counts. NCCL
// itself has no such counts.
namespace muster::testing {

// Returns the stand-ins' counts as a text. The text is the same before and after code that leaks
// nothing.
std::string HeldResources();

// Returns NCCL's threads in this process, or 0 on NCCL itself.
int NcclThreads();
int NcclCommunicators();

// Returns the maxCTAs that NCCL was configured with, or nullopt on NCCL itself.
std::optional<int> MaxCtasOf(ncclComm_t comm);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_NCCL_RANK_HELD_RESOURCES_H_
