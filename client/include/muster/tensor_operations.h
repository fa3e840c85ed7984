#ifndef MUSTER_TENSOR_OPERATIONS_H_
#define MUSTER_TENSOR_OPERATIONS_H_

#include "muster/cxx17.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "muster/call_options.h"
#include "muster/reduce_op.h"
#include "muster/tensor.h"

// The operations that Communicator and NcclCommunicator share, for code that works with both:
//
//   absl::Status Average(muster::TensorOperations& comm, std::vector<float>& gradients) {
//     const muster::MutableTensorView view = muster::MutableViewOf(gradients);
//     return comm.AllReduce(view, view, muster::ReduceOp::kAverage);
//   }
namespace muster {

// A tensor that a SendRecv() of many tensors sends.
struct OutgoingTensor {
  TensorView data;  // the tensor
  int to = 0;       // the receiver's rank in the group
};
// A tensor that a SendRecv() of many tensors receives.
struct IncomingTensor {
  MutableTensorView data;  // the memory for the tensor
  int from = 0;            // the sender's rank in the group
};

// The interface of Communicator and NcclCommunicator. See Communicator for what each operation
// does, for the sizes of tensors, and for errors.
//
// An operation runs after the work that is on the caller's stream (CallOptions::stream) at the time
// of the call. It blocks until this rank's part is done and its result is valid. A Communicator
// takes tensors in the memory of the host or the GPU. An NcclCommunicator takes only tensors that
// its device can reach, and runs on the caller's stream itself.
class TensorOperations {
 public:
  virtual ~TensorOperations() = default;

  // Return this process's index in the group, and the number of ranks.
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // `in` and `out` may be the same tensor.
  virtual absl::Status AllReduce(const TensorView& in, const MutableTensorView& out,
                                 ReduceOp op = ReduceOp::kSum, const CallOptions& options = {}) = 0;
  // Changes the buffers in place.
  virtual absl::Status AllReduceCoalesced(absl::Span<const MutableTensorView> buffers,
                                          ReduceOp op = ReduceOp::kSum,
                                          const CallOptions& options = {}) = 0;
  virtual absl::Status Broadcast(const MutableTensorView& data, int root = 0,
                                 const CallOptions& options = {}) = 0;
  virtual absl::Status Reduce(const TensorView& in, const MutableTensorView& out,
                              ReduceOp op = ReduceOp::kSum, int root = 0,
                              const CallOptions& options = {}) = 0;
  virtual absl::Status AllGather(const TensorView& in, const MutableTensorView& out,
                                 const CallOptions& options = {}) = 0;
  virtual absl::Status AllGather(const TensorView& in, absl::Span<const size_t> counts,
                                 const MutableTensorView& out, const CallOptions& options = {}) = 0;
  virtual absl::Status ReduceScatter(const TensorView& in, const MutableTensorView& out,
                                     ReduceOp op = ReduceOp::kSum,
                                     const CallOptions& options = {}) = 0;
  virtual absl::Status AllToAll(const TensorView& in, const MutableTensorView& out,
                                const CallOptions& options = {}) = 0;
  virtual absl::Status Send(const TensorView& data, int peer, const CallOptions& options = {}) = 0;
  virtual absl::Status Recv(const MutableTensorView& data, int peer,
                            const CallOptions& options = {}) = 0;
  virtual absl::Status SendRecv(const TensorView& out, int to, const MutableTensorView& in,
                                int from, const CallOptions& options = {}) = 0;
  virtual absl::Status SendRecv(absl::Span<const OutgoingTensor> sends,
                                absl::Span<const IncomingTensor> receives,
                                const CallOptions& options = {}) = 0;
};

}  // namespace muster

#endif  // MUSTER_TENSOR_OPERATIONS_H_
