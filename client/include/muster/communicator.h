#ifndef MUSTER_COMMUNICATOR_H_
#define MUSTER_COMMUNICATOR_H_

#include "muster/cxx17.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "muster/call_options.h"
#include "muster/data_type.h"
#include "muster/group.h"
#include "muster/job.h"
#include "muster/pending_operation.h"
#include "muster/reduce_op.h"
#include "muster/tensor.h"
#include "muster/tensor_operations.h"

// Tensors that move from rank to rank, over NCCL, Gloo or shared memory:
//
//   auto communicator = muster::Communicator::Create(job);  // NCCL on GPUs, Gloo on CPUs
//   if (!communicator.ok()) return communicator.status();
//   std::vector<float> gradients(1000);
//   absl::Status reduced = (*communicator)->AllReduce(gradients, muster::ReduceOp::kAverage);
//   if (!reduced.ok()) return reduced;  // names the lost rank, its node and why
namespace muster {

// Options of Communicator::Create().
struct CommunicatorOptions {
  // "gloo", "nccl", or another backend that the program links. Empty: MUSTER_BACKEND, or else the
  // best backend that is linked and usable here.
  std::string backend;

  // The address that peers connect to: an IP address or the name of a network interface. Empty:
  // MUSTER_INTERFACE, or else the address from which this process reaches the coordinator. A
  // loopback address works only if all ranks are on one node, which Create() checks.
  std::string interface;

  // The default time-out of all operations, including Create(). Unset: the job's default.
  std::optional<absl::Duration> timeout;

  // Ends Create() with CANCELLED once it is cancelled. Not owned.
  Cancellation* cancellation = nullptr;
};

namespace internal {
class Backend;
class OperationRunner;
struct CommunicatorAccess;
struct Message;
// A buffer of an operation on many buffers.
struct Buffer {
  void* data = nullptr;
  size_t count = 0;  // number of elements
};
// The input and the output of an operation: elements of one type.
struct InOut {
  const void* in = nullptr;
  size_t in_count = 0;
  void* out = nullptr;
  size_t out_count = 0;
  DataType type = DataType::kUint8;
};
template <class T>
InOut InOutOf(absl::Span<const T> in, absl::Span<T> out) {
  return {in.data(), in.size(), out.data(), out.size(), DataTypeOf<T>()};
}
}  // namespace internal

// Moves tensors between the ranks of a group, from rank to rank. No data travels through the
// coordinator.
//
// An operation blocks until this rank's part is done. All ranks call the same operations in the
// same order with the same sizes; otherwise the calls end at their time-out. The same layout
// (number of ranks, sizes, and ranks per machine) gives the same bits in every run. A communicator
// has one call at a time: a call from a second thread returns FAILED_PRECONDITION. Use Start() to
// overlap operations with computation. Errors:
//   FAILED_PRECONDITION  another thread is in a call, or this process is a fork of the one that
//                        created the communicator. Nothing was sent.
//   INVALID_ARGUMENT     sizes, root or peer do not fit. Nothing was sent.
//   UNIMPLEMENTED        the backend does not support the operation for this type. Nothing was
//                        sent.
//   ABORTED              a member of the job was lost; names its rank, node, pid and the cause.
//   DEADLINE_EXCEEDED    names the operation and, if known, the ranks that it waited for.
//   CANCELLED            CallOptions::cancellation was cancelled.
//   UNAVAILABLE          the connection to a peer broke, but its process is not known to be lost;
//                        names the peer, and why it ended its communicator, if it said so. Or the
//                        coordinator could not be reached for JobOptions::coordinator_timeout.
//   INTERNAL             CUDA or NCCL failed in this process; says how.
// After one of the last five the communicator is finished, because a peer may have received a part
// of the data. Later calls return the same error. Create a new communicator, unless the job is
// broken.
//
// Inside a scope of muster/scopes.h a collective does not wait and gives this rank's own value. An
// AllGather or AllToAll writes it to this rank's place and leaves the rest of `out` unchanged.
//
// Data is a span or a std::vector of T, or a view of a tensor whose type is known at run time. An
// operation uses the view's type and size, and accepts any shape of that size. The views of one
// call have one type; otherwise it returns INVALID_ARGUMENT. For T see DataTypeOf() in
// muster/data_type.h, and for the types that each backend supports DataType. Counts are numbers of
// elements. With NCCL, data may be in host memory or in the memory of this process's GPU (a span of
// device pointers), which saves copies.
//
// Streams, with NCCL: an operation runs after the work that is on the caller's stream at the time
// of the call, for data in GPU memory and in host memory. The caller's stream is
// CallOptions::stream, or the legacy default stream of the communicator's GPU, which waits for all
// ordinary streams. Name the stream if it was made with cudaStreamNonBlocking or is a per-thread
// default stream. When an operation returns, its result is visible to the host and to all later
// work on any stream. For operations on streams that do not block see muster/nccl.h. With Gloo,
// synchronize the stream that writes the data before the call.
class Communicator final : public TensorOperations {
 public:
  // Creates a communicator over the ranks of `group`, or all ranks of `job`, which all must call
  // it. Blocks until this rank is connected to all others. When the Job is destroyed, the
  // communicator ends with CANCELLED. Errors as in Group, and
  //   NOT_FOUND            the backend is not linked (lists the linked ones), or the network
  //                        interface or address does not exist (lists the existing ones);
  //   FAILED_PRECONDITION  the ranks chose different backends, or addresses that cannot reach each
  //                        other; or a rank failed before it was connected; or a scope of
  //                        muster/scopes.h is open;
  //   RESOURCE_EXHAUSTED   this process cannot start a thread. The other ranks get
  //                        FAILED_PRECONDITION, which names this rank. All may call it again.
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(
      const Group& group, const CommunicatorOptions& options = {});
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(
      const Job& job, const CommunicatorOptions& options = {}) {
    return Create(job.world(), options);
  }
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(
      const std::unique_ptr<Job>& job, const CommunicatorOptions& options = {}) {
    if (job == nullptr) return absl::InvalidArgumentError("Communicator::Create: the Job is null");
    return Create(job->world(), options);
  }
  // Returns the error of Join() if `job` holds it.
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(
      const absl::StatusOr<std::unique_ptr<Job>>& job, const CommunicatorOptions& options = {}) {
    if (!job.ok()) return job.status();
    return Create(*job, options);
  }

  // Blocks until the operations of Start() have ended, and tells the peers that this rank ends the
  // communicator. In a fork of the process that created it, does nothing.
  ~Communicator() override;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Return this process's index in the group, and the number of ranks.
  int rank() const override;
  int size() const override;
  // Returns "gloo" or "nccl". In a group of one rank, returns "serial" instead of "gloo".
  const std::string& backend() const { return backend_name_; }

  // Combines the data of all ranks by `op`, in place, on every rank.
  template <class T>
  absl::Status AllReduce(absl::Span<T> data, ReduceOp op = ReduceOp::kSum,
                         const CallOptions& options = {}) {
    return RawAllReduce(internal::InOutOf<T>(data, data), op, options);
  }
  template <class T>
  absl::Status AllReduce(std::vector<T>& data, ReduceOp op = ReduceOp::kSum,
                         const CallOptions& options = {}) {
    return AllReduce(absl::MakeSpan(data), op, options);
  }
  absl::Status AllReduce(const MutableTensorView& data, ReduceOp op = ReduceOp::kSum,
                         const CallOptions& options = {});

  // Combines `in` of all ranks by `op`, and writes the result to `out` on every rank. `in` and
  // `out` have the same size. They are the same memory or do not overlap.
  template <class T>
  absl::Status AllReduce(absl::Span<const T> in, absl::Span<T> out, ReduceOp op = ReduceOp::kSum,
                         const CallOptions& options = {}) {
    return RawAllReduce(internal::InOutOf(in, out), op, options);
  }
  template <class T>
  absl::Status AllReduce(const std::vector<T>& in, std::vector<T>& out,
                         ReduceOp op = ReduceOp::kSum, const CallOptions& options = {}) {
    return AllReduce(absl::MakeConstSpan(in), absl::MakeSpan(out), op, options);
  }
  absl::Status AllReduce(const TensorView& in, const MutableTensorView& out,
                         ReduceOp op = ReduceOp::kSum, const CallOptions& options = {}) override;

  // Reduces many buffers in place, such as the gradients of a model, as AllReduce() does. Takes one
  // launch of NCCL, or one pass of Gloo, which copies the buffers to a buffer of at most 4 MiB. All
  // ranks pass the same number of buffers with the same sizes. Views may have several types; each
  // type then takes an operation of its own.
  template <class T>
  absl::Status AllReduceCoalesced(absl::Span<const absl::Span<T>> buffers,
                                  ReduceOp op = ReduceOp::kSum, const CallOptions& options = {}) {
    std::vector<internal::Buffer> list;
    list.reserve(buffers.size());
    for (const absl::Span<T>& buffer : buffers) list.push_back({buffer.data(), buffer.size()});
    return RawAllReduceCoalesced(list, DataTypeOf<T>(), op, options);
  }
  absl::Status AllReduceCoalesced(absl::Span<const MutableTensorView> buffers,
                                  ReduceOp op = ReduceOp::kSum,
                                  const CallOptions& options = {}) override;

  // Copies the root's `data` into `data` on every rank.
  template <class T>
  absl::Status Broadcast(absl::Span<T> data, int root = 0, const CallOptions& options = {}) {
    return RawBroadcast(data.data(), data.size(), DataTypeOf<T>(), root, options);
  }
  template <class T>
  absl::Status Broadcast(std::vector<T>& data, int root = 0, const CallOptions& options = {}) {
    return Broadcast(absl::MakeSpan(data), root, options);
  }
  absl::Status Broadcast(const MutableTensorView& data, int root = 0,
                         const CallOptions& options = {}) override;

  // Combines `in` of all ranks by `op`, and writes the result to `out` at the root. On other ranks
  // `out` is not touched and may be empty. `in` and `out` are the same memory or do not overlap.
  template <class T>
  absl::Status Reduce(absl::Span<const T> in, absl::Span<T> out, ReduceOp op = ReduceOp::kSum,
                      int root = 0, const CallOptions& options = {}) {
    return RawReduce(internal::InOutOf(in, out), op, root, options);
  }
  template <class T>
  absl::Status Reduce(const std::vector<T>& in, std::vector<T>& out, ReduceOp op = ReduceOp::kSum,
                      int root = 0, const CallOptions& options = {}) {
    return Reduce(absl::MakeConstSpan(in), absl::MakeSpan(out), op, root, options);
  }
  absl::Status Reduce(const TensorView& in, const MutableTensorView& out,
                      ReduceOp op = ReduceOp::kSum, int root = 0,
                      const CallOptions& options = {}) override;

  // Writes `in` of all ranks to `out`, one after another in rank order, on every rank. out.size()
  // == size() * in.size(). `in` is this rank's place in `out`, or does not overlap it.
  template <class T>
  absl::Status AllGather(absl::Span<const T> in, absl::Span<T> out,
                         const CallOptions& options = {}) {
    return RawAllGather(internal::InOutOf(in, out), options);
  }
  template <class T>
  absl::Status AllGather(const std::vector<T>& in, std::vector<T>& out,
                         const CallOptions& options = {}) {
    return AllGather(absl::MakeConstSpan(in), absl::MakeSpan(out), options);
  }
  absl::Status AllGather(const TensorView& in, const MutableTensorView& out,
                         const CallOptions& options = {}) override;

  // Does the same with parts of different sizes. `counts` has the number of elements of each rank,
  // and is the same on all ranks. in.size() == counts[rank()], and out.size() is the sum of all
  // counts.
  template <class T>
  absl::Status AllGather(absl::Span<const T> in, absl::Span<const size_t> counts, absl::Span<T> out,
                         const CallOptions& options = {}) {
    return RawAllGatherUneven(internal::InOutOf(in, out), counts, options);
  }
  template <class T>
  absl::Status AllGather(const std::vector<T>& in, const std::vector<size_t>& counts,
                         std::vector<T>& out, const CallOptions& options = {}) {
    return AllGather(absl::MakeConstSpan(in), absl::MakeConstSpan(counts), absl::MakeSpan(out),
                     options);
  }
  absl::Status AllGather(const TensorView& in, absl::Span<const size_t> counts,
                         const MutableTensorView& out, const CallOptions& options = {}) override;

  // Combines `in` of all ranks by `op`, and writes this rank's part of the result to `out`.
  // in.size() == size() * out.size(). `out` is this rank's part of `in`, or does not overlap it.
  template <class T>
  absl::Status ReduceScatter(absl::Span<const T> in, absl::Span<T> out,
                             ReduceOp op = ReduceOp::kSum, const CallOptions& options = {}) {
    return RawReduceScatter(internal::InOutOf(in, out), op, options);
  }
  template <class T>
  absl::Status ReduceScatter(const std::vector<T>& in, std::vector<T>& out,
                             ReduceOp op = ReduceOp::kSum, const CallOptions& options = {}) {
    return ReduceScatter(absl::MakeConstSpan(in), absl::MakeSpan(out), op, options);
  }
  absl::Status ReduceScatter(const TensorView& in, const MutableTensorView& out,
                             ReduceOp op = ReduceOp::kSum,
                             const CallOptions& options = {}) override;

  // Sends part i of `in` to rank i, and receives part i of `out` from rank i. Both have size()
  // parts of one size, which is the same on all ranks. They do not overlap.
  template <class T>
  absl::Status AllToAll(absl::Span<const T> in, absl::Span<T> out,
                        const CallOptions& options = {}) {
    return RawAllToAll(internal::InOutOf(in, out), options);
  }
  template <class T>
  absl::Status AllToAll(const std::vector<T>& in, std::vector<T>& out,
                        const CallOptions& options = {}) {
    return AllToAll(absl::MakeConstSpan(in), absl::MakeSpan(out), options);
  }
  absl::Status AllToAll(const TensorView& in, const MutableTensorView& out,
                        const CallOptions& options = {}) override;

  // Sends to, or receives from, one rank. Sends and receives between two ranks match in order. A
  // Send may return before the peer receives, or block until it does. So two ranks that both call
  // Send first may wait for each other; use SendRecv().
  template <class T>
  absl::Status Send(absl::Span<const T> data, int peer, const CallOptions& options = {}) {
    return RawSend(data.data(), data.size(), DataTypeOf<T>(), peer, options);
  }
  template <class T>
  absl::Status Recv(absl::Span<T> data, int peer, const CallOptions& options = {}) {
    return RawRecv(data.data(), data.size(), DataTypeOf<T>(), peer, options);
  }
  template <class T>
  absl::Status Send(const std::vector<T>& data, int peer, const CallOptions& options = {}) {
    return Send(absl::MakeConstSpan(data), peer, options);
  }
  template <class T>
  absl::Status Recv(std::vector<T>& data, int peer, const CallOptions& options = {}) {
    return Recv(absl::MakeSpan(data), peer, options);
  }
  absl::Status Send(const TensorView& data, int peer, const CallOptions& options = {}) override;
  absl::Status Recv(const MutableTensorView& data, int peer,
                    const CallOptions& options = {}) override;

  // Sends `out` to rank `to` and receives `in` from rank `from` at the same time, so that all ranks
  // of a ring may call it. Matches Send and Recv of the peers too. `to` and `from` are other ranks,
  // or both are this rank, which copies. `in` and `out` do not overlap.
  template <class T>
  absl::Status SendRecv(absl::Span<const T> out, int to, absl::Span<T> in, int from,
                        const CallOptions& options = {}) {
    return RawSendRecv(internal::InOutOf(out, in), to, from, options);
  }
  template <class T>
  absl::Status SendRecv(const std::vector<T>& out, int to, std::vector<T>& in, int from,
                        const CallOptions& options = {}) {
    return SendRecv(absl::MakeConstSpan(out), to, absl::MakeSpan(in), from, options);
  }
  absl::Status SendRecv(const TensorView& out, int to, const MutableTensorView& in, int from,
                        const CallOptions& options = {}) override;

  // Sends all of `sends` and receives all of `receives` at the same time, for halo exchanges and
  // pipelines. No part waits for another part, whatever lists the ranks pass. Between two ranks the
  // parts match in the order of the lists, and also match Send, Recv and SendRecv. Types and sizes
  // may differ from pair to pair. The peers are other ranks. Received tensors do not overlap any
  // other tensor. Either list may be empty.
  absl::Status SendRecv(absl::Span<const OutgoingTensor> sends,
                        absl::Span<const IncomingTensor> receives,
                        const CallOptions& options = {}) override;

  // Blocks until all ranks have called it. Does not use the coordinator.
  absl::Status Barrier(const CallOptions& options = {});

  // Starts operations and returns at once, so that they overlap with computation; see
  // muster/pending_operation.h for an example.
  //
  // `calls` runs on a thread of the communicator, after the calls that were started before, and
  // calls operations of this communicator. Direct calls wait until all started calls have ended.
  // All ranks start and call the same operations in the same order. On a GPU, an operation runs
  // after the work that is on `stream` (see CallOptions) when Start() is called. Its time-out
  // begins when `calls` calls it. Inside a scope of muster/scopes.h, `calls` runs at once in the
  // caller's thread. Wait() returns the error of `calls`, or
  //   INTERNAL             `calls` has thrown an exception;
  //   FAILED_PRECONDITION  Start() was called within `calls`, or in a fork;
  //   RESOURCE_EXHAUSTED   this process cannot start a thread.
  // After the last two, `calls` has not run, and the communicator is still usable.
  PendingOperation Start(std::function<absl::Status(Communicator&)> calls, void* stream = nullptr);

  // Not for programs.
  Communicator(const Group& group, const CommunicatorOptions& options, std::string backend_name,
               std::unique_ptr<internal::Backend> backend);

 private:
  friend struct internal::CommunicatorAccess;

  // Operations on elements whose type is known at run time.
  absl::Status RawAllReduce(const internal::InOut& data, ReduceOp op, const CallOptions& options);
  absl::Status RawAllReduceCoalesced(absl::Span<const internal::Buffer> buffers, DataType type,
                                     ReduceOp op, const CallOptions& options);
  absl::Status RawBroadcast(void* data, size_t count, DataType type, int root,
                            const CallOptions& options);
  absl::Status RawReduce(const internal::InOut& data, ReduceOp op, int root,
                         const CallOptions& options);
  absl::Status RawAllGather(const internal::InOut& data, const CallOptions& options);
  absl::Status RawAllGatherUneven(const internal::InOut& data, absl::Span<const size_t> counts,
                                  const CallOptions& options);
  absl::Status RawReduceScatter(const internal::InOut& data, ReduceOp op,
                                const CallOptions& options);
  absl::Status RawAllToAll(const internal::InOut& data, const CallOptions& options);
  absl::Status RawSend(const void* data, size_t count, DataType type, int peer,
                       const CallOptions& options);
  absl::Status RawRecv(void* data, size_t count, DataType type, int peer,
                       const CallOptions& options);
  // Sends `data.in` to rank `to`, and receives `data.out` from rank `from`.
  absl::Status RawSendRecv(const internal::InOut& data, int to, int from,
                           const CallOptions& options);
  absl::Status Exchange(absl::string_view operation, absl::Span<const internal::Message> sends,
                        absl::Span<const internal::Message> receives, const CallOptions& options);

  const std::string backend_name_;
  const std::unique_ptr<internal::OperationRunner> runner_;
};

}  // namespace muster

#endif  // MUSTER_COMMUNICATOR_H_
