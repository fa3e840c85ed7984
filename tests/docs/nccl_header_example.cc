// The example at the head of muster/nccl.h. See header_examples.cc.

#include "muster/nccl.h"

namespace muster_examples {

absl::Status AverageOnStream(muster::Job& job, float* gradients, size_t count,
                             cudaStream_t stream) {
  auto comm = muster::NcclCommunicator::Create(job);
  if (!comm.ok()) return comm.status();
  absl::Status enqueued =
      (*comm)->AllReduce(gradients, gradients, count, muster::DataType::kFloat32,
                         muster::ReduceOp::kAverage, stream);  // enqueues, as NCCL does
  if (!enqueued.ok()) return enqueued;
  return (*comm)->Wait(stream);  // never hangs; names the rank that is lost
}

}  // namespace muster_examples
