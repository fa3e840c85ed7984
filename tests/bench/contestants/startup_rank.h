#ifndef MUSTER_TESTS_BENCH_CONTESTANTS_STARTUP_RANK_H_
#define MUSTER_TESTS_BENCH_CONTESTANTS_STARTUP_RANK_H_

#include "absl/status/status.h"
#include "muster/job.h"

namespace muster::testing {

constexpr size_t kFloats = 1024;  // of the all-reduce

// Connects the ranks, and reduces once: startup_gloo_rank.cc or startup_nccl_rank.cc.
absl::Status FirstAllReduce(Job& job);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_CONTESTANTS_STARTUP_RANK_H_
