#ifndef MUSTER_TESTS_CLIENT_NCCL_HELD_H_
#define MUSTER_TESTS_CLIENT_NCCL_HELD_H_

#include <nccl.h>

#include <optional>
#include <string>

// What NCCL and CUDA hold in this process. The fake NCCL counts it; NCCL itself tells nobody.
namespace muster::testing {

// Returns the counts of the stand-ins as a text. It is the same before and after what leaves
// nothing behind.
std::string Held();

// Returns 0 on NCCL itself.
int NcclThreads();
int NcclCommunicators();

// Returns what NCCL was told, or nullopt on NCCL itself.
std::optional<int> MaxCtasOf(ncclComm_t comm);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_NCCL_HELD_H_
