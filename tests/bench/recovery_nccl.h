#ifndef MUSTER_TESTS_BENCH_RECOVERY_NCCL_H_
#define MUSTER_TESTS_BENCH_RECOVERY_NCCL_H_

#include <string>

namespace muster::testing {

// Prints how long NCCL communicators take to end after a loss, to work again in the next epoch, and
// to be created; with 2, 4 and 8 ranks, through shared memory (one node) and through sockets (each
// rank a node of its own). `nccl` is a version of NCCL's host code on the stand-in GPUs, or "gpu"
// for the libraries and the GPUs of this machine, which must have as many as there are ranks.
void MeasureNccl(const std::string& nccl, int rounds);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_RECOVERY_NCCL_H_
