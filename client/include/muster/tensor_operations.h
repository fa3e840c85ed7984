#ifndef MUSTER_TENSOR_OPERATIONS_H_
#define MUSTER_TENSOR_OPERATIONS_H_

#include "muster/cxx17.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "muster/call_options.h"
#include "muster/reduce_op.h"
#include "muster/tensor.h"

namespace muster {

// What goes to another rank in a SendRecv() of many.
struct OutgoingTensor {
  // What, and the rank in the group that gets it.
  TensorView data;
  int to = 0;
};
// What comes from another rank in a SendRecv() of many.
struct IncomingTensor {
  // Where to, and the rank in the group that sends it.
  MutableTensorView data;
  int from = 0;
};

// What Communicator and NcclCommunicator have in common, for code that works on either.
//
// Every operation comes after the work that is on the caller's stream (CallOptions::stream) when it
// is called, and blocks until this rank's part is done; then the result is there for all. What the
// operations do, how sizes must fit, and the errors are Communicator's. A Communicator takes
// tensors in the host's memory, too; an NcclCommunicator only those that its device can reach, and
// works on the caller's stream itself.
class TensorOperations {
 public:
  virtual ~TensorOperations() = default;

  // This process's index in the group, and the number of its ranks.
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // `in` and `out` may be the same tensor.
  virtual absl::Status AllReduce(const TensorView& in, const MutableTensorView& out,
                                 ReduceOp op = ReduceOp::kSum, const CallOptions& options = {}) = 0;
  // In place.
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
