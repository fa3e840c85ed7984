#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_ORDER_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_ORDER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "tests/nccl/cuda/fake_cuda.h"

// CUDA's guarantees about the order of work. Timing is no guarantee: two streams that nothing
// orders may take turns as the program hopes, and not do so on another day.
namespace fake_cuda {

// The work that is certainly done before some point, as a vector clock: how far each stream has
// come.
class VectorClock {
 public:
  void Add(uint64_t stream, uint64_t work);
  void Add(const VectorClock& other);
  bool Covers(uint64_t stream, uint64_t work) const;

 private:
  std::map<uint64_t, uint64_t> reached_;  // by stream
};

// Notes that the host has waited for work, or was told that it is done. All work that the program
// submits from now on comes after it.
void AdvanceHostClock(const VectorClock& clock);
VectorClock HostClock();

// Ends the process if nothing orders `accesses` after what other streams do with the same memory.
// The accesses belong to the work with this number on this stream. Must be called in the order of
// submission.
void CheckOrder(const std::vector<Access>& accesses, uint64_t stream, uint64_t work,
                const VectorClock& clock);

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_ORDER_H_
