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

namespace muster {

// Taken by Communicator::Create().
struct CommunicatorOptions {
  // "gloo", "nccl", or another backend that the program links. Empty: MUSTER_BACKEND, else the best
  // one that is linked and usable here.
  std::string backend;

  // The address that this process offers its peers: an IP address, or the name of a network
  // interface. Empty: MUSTER_INTERFACE, else the address from which it reaches the coordinator;
  // loopback addresses are right only as long as all ranks share a node, which Create() checks.
  std::string interface;

  // Default time-out of every operation, Create() included. Unset: the job's.
  std::optional<absl::Duration> timeout;

  // Ends Create() with CANCELLED when cancelled. Not owned.
  Cancellation* cancellation = nullptr;
};

namespace internal {
class Backend;
class OperationRunner;
struct CommunicatorAccess;
struct Message;
// One of the buffers of an operation on many.
struct Buffer {
  void* data = nullptr;
  size_t count = 0;  // elements
};
// What an operation reads and what it writes: elements of one type.
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

// Moves tensors between the ranks of a group, peer to peer; nothing passes through the coordinator.
//
// A collective blocks until this rank's part is done. All ranks call the same operations in the
// same order with the same sizes; where they do not, the calls end at their time-out. The same
// layout (number of ranks, sizes, who is on which machine) gives the same bits on every run. One
// call at a time: a second one from another thread is refused with FAILED_PRECONDITION; one that is
// to overlap with the program's own work is begun by Start(). Errors:
//   FAILED_PRECONDITION  as above; or this process is a fork of the one that created it. Nothing
//                        was sent.
//   INVALID_ARGUMENT     sizes, root or peer do not fit; nothing was sent.
//   UNIMPLEMENTED        the backend does not have this operation on this type; nothing was sent.
//   ABORTED              a member of the job was lost: its rank, node, pid and why.
//   DEADLINE_EXCEEDED    names the operation and, where known, the ranks that were waited for.
//   CANCELLED            through CallOptions::cancellation.
//   UNAVAILABLE          the connection to a peer broke although its process is not known to be
//                        lost; names the peer, and why it ended its communicator, if it said so.
//                        Or the coordinator was given up (JobOptions::coordinator_timeout).
//   INTERNAL             this process's CUDA or NCCL failed, and how.
// After any of the last five peers may have seen a part of the data, so the communicator is
// finished: later calls return the same error again. Create a new one, unless the job is broken.
//
// Inside a scope of muster/scopes.h a collective does not wait: what it gives is this rank's own
// value; of an AllGather or AllToAll, in this rank's place, the rest of `out` as it was.
//
// Data is a span or a std::vector of T, or a view of a tensor, whose type is known at run time: an
// operation looks at the view's type and size, and takes any shape of that size. The views of one
// call are of one type, else INVALID_ARGUMENT.
//
// T: see DataTypeOf() in muster/data_type.h, and DataType for what backends do with which. Counts
// are in elements. Data may be in this process's memory; with NCCL it may also be in its GPU's (a
// span of device pointers), which saves the copies.
//
// Streams, with NCCL: an operation comes after the work that is on the caller's stream when it is
// called, whether the data is in the GPU's memory or in the host's. That stream is the legacy
// default stream of the communicator's GPU, which stands for all ordinary streams too, unless
// CallOptions::stream names another one: needed for those made with cudaStreamNonBlocking and for
// per-thread default streams. When an operation returns, its result is there for the host and for
// all work that is enqueued from then on, on any stream. Operations on streams without waiting:
// muster/nccl.h. With Gloo: the host must have waited for the work that writes its data.
class Communicator final : public TensorOperations {
 public:
  // A collective of `group` (or of all ranks of `job`): every rank must call it. Blocks until this
  // rank is connected to all others. When the Job is destroyed the communicator ends, with
  // CANCELLED. Errors: those of Group, and
  //   NOT_FOUND            the backend asked for is not linked (lists those that are), or there is
  //                        no such network interface or address (lists those that are there);
  //   FAILED_PRECONDITION  the ranks chose different backends, or addresses that cannot reach each
  //                        other, or one of them failed before the connections were made; or a
  //                        scope of muster/scopes.h is open;
  //   RESOURCE_EXHAUSTED   this process gets no further thread. The other ranks get
  //                        FAILED_PRECONDITION that names this one, and all may call it again.
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
  // The error of Join(), where that is what `job` holds.
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(
      const absl::StatusOr<std::unique_ptr<Job>>& job, const CommunicatorOptions& options = {}) {
    if (!job.ok()) return job.status();
    return Create(*job, options);
  }

  // Waits for what Start() has begun. Tells the peers that this rank goes; in a fork of the process
  // that created it nothing is done, and what it holds is left alone.
  ~Communicator() override;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // This process's index in the group, and the number of its ranks.
  int rank() const override;
  int size() const override;
  // "gloo" or "nccl"; in a group of one "nccl" or, where the choice is not NCCL, "serial".
  const std::string& backend() const { return backend_name_; }

  // data = op over all ranks' data, on every rank. In place.
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

  // out = op over all ranks' in, on every rank. Same sizes; `in` and `out` are the same or
  // disjoint.
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

  // Many buffers (the gradients of a model, say), each reduced in place as by AllReduce, together:
  // NCCL in one launch; Gloo in one pass, for which buffers are copied to one of up to 4 MiB. All
  // ranks pass the same number of buffers, of the same sizes. Views may be of several types: then
  // it is one operation for each.
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

  // data = the root's data, on every rank.
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

  // At the root, out = op over all ranks' in; elsewhere `out` is not touched and may be empty. `in`
  // and `out` are the same or disjoint.
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

  // out = all ranks' in, one after another in rank order. out.size() == size() * in.size(). `in`
  // is this rank's place in `out`, or disjoint from it.
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

  // The same of parts of different sizes: `counts` has each rank's number of elements, and is the
  // same on all ranks. in.size() == counts[rank()], and out.size() is the sum of all.
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

  // out = this rank's part of op over all ranks' in. in.size() == size() * out.size(). `out` is
  // this rank's part of `in`, or disjoint from it.
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

  // Part i of `in` goes to rank i; part i of `out` is what rank i has sent here. Both have size()
  // parts of one size, the same on all ranks. They are disjoint.
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

  // Send and Recv pair up in order between two ranks. Send may return before the peer has received,
  // and may block until it receives: two ranks that both begin with Send can wait for each other.
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

  // Sends `out` to rank `to` and receives `in` from rank `from`, neither waiting for the other, so
  // that all ranks of a ring may do it at once. Pairs up with Send and Recv, too. `to` and `from`
  // are other ranks, or both this rank itself: then it copies. The two are disjoint.
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

  // Sends all of `sends` and receives all of `receives` at once, as halo exchanges and pipelines
  // need it: whatever the ranks' lists are, none of it waits for another part. Between two ranks
  // they pair up in the order of the lists, with each other and with Send, Recv and SendRecv. Types
  // and sizes may differ from pair to pair. The peers are other ranks; what is received is disjoint
  // from everything else. Either list may be empty.
  absl::Status SendRecv(absl::Span<const OutgoingTensor> sends,
                        absl::Span<const IncomingTensor> receives,
                        const CallOptions& options = {}) override;

  // Waits for all ranks, without the coordinator.
  absl::Status Barrier(const CallOptions& options = {});

  // Begins operations and returns at once, so that they overlap with what the caller computes:
  //
  //   muster::PendingOperation reducing =
  //       comm->Start([&](muster::Communicator& c) { return c.AllReduce(gradients); });
  //   ... compute ...
  //   absl::Status status = reducing.Wait();
  //
  // `calls` makes operations of this communicator on a thread of the communicator's own, after what
  // was started before; a call from outside waits until all that was started has ended. All ranks
  // start and call the same in the same order. On a GPU they come after the work that is on
  // `stream` (see CallOptions) when Start() is called, not when its turn comes. The time-out of an
  // operation runs from its turn on. Inside a scope of muster/scopes.h `calls` runs at once, in the
  // caller's thread. Errors are those of the calls; an exception is INTERNAL; FAILED_PRECONDITION:
  // called within `calls`, or in a fork; RESOURCE_EXHAUSTED: this process gets no further thread.
  // After the last two `calls` has not run, and the communicator goes on.
  PendingOperation Start(std::function<absl::Status(Communicator&)> calls, void* stream = nullptr);

  // Not for programs.
  Communicator(const Group& group, const CommunicatorOptions& options, std::string backend_name,
               std::unique_ptr<internal::Backend> backend);

 private:
  friend struct internal::CommunicatorAccess;

  // The operations on elements whose type is known at run time.
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
  // `data.in` goes to rank `to`, and `data.out` comes from rank `from`.
  absl::Status RawSendRecv(const internal::InOut& data, int to, int from,
                           const CallOptions& options);
  absl::Status Exchange(absl::string_view operation, absl::Span<const internal::Message> sends,
                        absl::Span<const internal::Message> receives, const CallOptions& options);

  const std::string backend_name_;
  const std::unique_ptr<internal::OperationRunner> runner_;
};

}  // namespace muster

#endif  // MUSTER_COMMUNICATOR_H_
