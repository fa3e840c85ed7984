#ifndef MUSTER_TESTS_NCCL_REAL_KERNELS_PROFILER_H_
#define MUSTER_TESTS_NCCL_REAL_KERNELS_PROFILER_H_

#include "tests/nccl/real/kernels/work_batch.h"

namespace cpu_nccl {

// Tells NCCL's profiler when a channel began and ended each piece of work. A proxy thread polls
// these counters, and calls the profiler plug-in. NCCL 2.22 has none of this.
class Profiler {
 public:
  // Continues the count of the channel's work from the last kernel.
  explicit Profiler(Block& block) : block_(block) {}

  void Start(const Batch& batch);
  void Stop(const Batch& batch);

 private:
  Block& block_;
};

}  // namespace cpu_nccl

#endif  // MUSTER_TESTS_NCCL_REAL_KERNELS_PROFILER_H_
