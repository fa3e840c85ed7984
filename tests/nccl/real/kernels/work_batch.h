#ifndef MUSTER_TESTS_NCCL_REAL_KERNELS_WORK_BATCH_H_
#define MUSTER_TESTS_NCCL_REAL_KERNELS_WORK_BATCH_H_

#include <cstring>
#include <vector>

#include "tests/nccl/real/kernels/block.h"

namespace cpu_nccl {

// A batch of work of one channel: structures of one type, for one device function.
struct Batch {
  ncclDevWorkType type = ncclDevWorkTypeColl;
  int function_id = 0;
  int next = -1;  // the index of the channel's next batch
  std::vector<char> bytes;
  uint32_t consumed = 0;  // where the work ends in NCCL's ring of work

  size_t size() const { return bytes.size() / ncclDevWorkSize(type); }

  template <class Work>
  std::vector<Work> Works() const {
    std::vector<Work> works(bytes.size() / sizeof(Work));
    std::memcpy(static_cast<void*>(works.data()), bytes.data(), works.size() * sizeof(Work));
    return works;
  }
};

// Loads the batch at an index, with the batches that extend it. The work lies in the kernel's
// arguments, in NCCL's ring of work, or in memory of a CUDA graph.
Batch LoadBatch(const Memory& memory, const ncclDevKernelArgs& arguments, int index);

// Tells NCCL 2.22 that the batch's part of the ring is free. Later versions use an event.
void ReleaseWork(const Block& block, const ncclDevKernelArgs& arguments, const Batch& batch);

}  // namespace cpu_nccl

#endif  // MUSTER_TESTS_NCCL_REAL_KERNELS_WORK_BATCH_H_
