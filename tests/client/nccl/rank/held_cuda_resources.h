#ifndef MUSTER_TESTS_CLIENT_NCCL_RANK_HELD_CUDA_RESOURCES_H_
#define MUSTER_TESTS_CLIENT_NCCL_RANK_HELD_CUDA_RESOURCES_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/nccl/cuda/fake_cuda.h"

namespace muster::testing {

// Returns the counts of the stand-in for CUDA.
inline std::string HeldCudaResources() {
  const fake_cuda::Counters cuda = fake_cuda::CurrentCounters();
  return absl::StrCat("device allocations ", cuda.device_allocations, ", device bytes ",
                      cuda.device_bytes, ", host allocations ", cuda.host_allocations, ", streams ",
                      cuda.streams, ", events ", cuda.events);
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_NCCL_RANK_HELD_CUDA_RESOURCES_H_
