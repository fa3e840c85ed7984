#ifndef MUSTER_COMMUNICATOR_H_
#define MUSTER_COMMUNICATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "muster/call_options.h"
#include "muster/data_type.h"
#include "muster/group.h"
#include "muster/job.h"
#include "muster/reduce_op.h"

namespace muster {

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
struct CommunicatorAccess;
// One of the buffers of an operation on many.
struct Buffer {
  void* data = nullptr;
  size_t count = 0;  // elements
};
}  // namespace internal

// Moves tensors between the ranks of a group, peer to peer; nothing passes through the coordinator.
//
// A collective blocks until this rank's part is done. All ranks call the same operations in the
// same order with the same sizes; where they do not, the calls end at their time-out. The same
// layout (number of ranks, sizes) gives the same bits on every run. One call at a time: a second
// one from another thread is refused with FAILED_PRECONDITION. Errors:
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
// value; of an AllGather, in this rank's place, the rest of `out` as it was.
//
// T: see DataTypeOf() in muster/data_type.h, and DataType for what backends do with which. Counts
// are in elements. Data may be in this process's memory; with NCCL it may also be in its GPU's (a
// span of device pointers), which saves the copies. Streams: muster/nccl.h.
class Communicator {
 public:
  // A collective of `group` (or of all ranks of `job`): every rank must call it. Blocks until this
  // rank is connected to all others. When the Job is destroyed the communicator ends, with
  // CANCELLED. Errors: those of Group, and
  //   NOT_FOUND            the backend asked for is not linked (lists those that are), or there is
  //                        no such network interface or address (lists those that are there);
  //   FAILED_PRECONDITION  the ranks chose different backends, or addresses that cannot reach each
  //                        other, or one of them failed before the connections were made; or a
  //                        scope of muster/scopes.h is open.
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(
      const Group& group, const CommunicatorOptions& options = {});
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(
      const Job& job, const CommunicatorOptions& options = {}) {
    return Create(job.world(), options);
  }

  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int size() const;
  // "gloo" or "nccl"; in a group of one "nccl" or, where the choice is not NCCL, "serial".
  const std::string& backend() const { return backend_name_; }

  // data = op over all ranks' data, on every rank. In place.
  template <class T>
  absl::Status AllReduce(absl::Span<T> data, ReduceOp op = ReduceOp::kSum,
                         const CallOptions& options = {});

  // out = op over all ranks' in, on every rank. Same sizes; `in` and `out` are the same or
  // disjoint.
  template <class T>
  absl::Status AllReduce(absl::Span<const T> in, absl::Span<T> out, ReduceOp op = ReduceOp::kSum,
                         const CallOptions& options = {});

  // Many buffers (the gradients of a model, say), each reduced in place as by AllReduce, in one
  // launch where the backend can. All ranks pass the same number of buffers, of the same sizes.
  template <class T>
  absl::Status AllReduceCoalesced(absl::Span<const absl::Span<T>> buffers,
                                  ReduceOp op = ReduceOp::kSum, const CallOptions& options = {});

  // data = the root's data, on every rank.
  template <class T>
  absl::Status Broadcast(absl::Span<T> data, int root = 0, const CallOptions& options = {});

  // At the root, out = op over all ranks' in; elsewhere `out` is not touched and may be empty. `in`
  // and `out` are the same or disjoint.
  template <class T>
  absl::Status Reduce(absl::Span<const T> in, absl::Span<T> out, ReduceOp op = ReduceOp::kSum,
                      int root = 0, const CallOptions& options = {});

  // out = all ranks' in, one after another in rank order. out.size() == size() * in.size(). `in`
  // is this rank's place in `out`, or disjoint from it.
  template <class T>
  absl::Status AllGather(absl::Span<const T> in, absl::Span<T> out,
                         const CallOptions& options = {});

  // out = this rank's part of op over all ranks' in. in.size() == size() * out.size(). `out` is
  // this rank's part of `in`, or disjoint from it.
  template <class T>
  absl::Status ReduceScatter(absl::Span<const T> in, absl::Span<T> out,
                             ReduceOp op = ReduceOp::kSum, const CallOptions& options = {});

  // Send and Recv pair up in order between two ranks. Send may return before the peer has received,
  // and may block until it receives: two ranks that both begin with Send can wait for each other.
  template <class T>
  absl::Status Send(absl::Span<const T> data, int peer, const CallOptions& options = {});
  template <class T>
  absl::Status Recv(absl::Span<T> data, int peer, const CallOptions& options = {});

  // Waits for all ranks, without the coordinator.
  absl::Status Barrier(const CallOptions& options = {});

  // Not for programs.
  Communicator(const Group& group, const CommunicatorOptions& options, std::string backend_name,
               std::unique_ptr<internal::Backend> backend);

 private:
  friend struct internal::CommunicatorAccess;

  // What a collective comes to where this process does not wait for the others.
  struct OwnValue {
    const void* from = nullptr;
    void* to = nullptr;
    size_t bytes = 0;
  };
  // Runs one collective, or, inside a PreventBlock scope, what it comes to there.
  absl::Status Collective(absl::string_view operation, const OwnValue& own,
                          const CallOptions& options,
                          absl::FunctionRef<absl::Status(const CallOptions&)> call);
  // Runs one operation of the backend: one at a time, and none after the error that ended it.
  absl::Status Run(absl::string_view operation, const CallOptions& options,
                   absl::FunctionRef<absl::Status(const CallOptions&)> call);
  absl::Status Enter(absl::string_view operation);
  absl::Status Leave(absl::Status result);
  void Fail(const absl::Status& why);

  absl::Status RawAllReduce(const void* in, size_t in_count, void* out, size_t out_count,
                            DataType type, ReduceOp op, const CallOptions& options);
  absl::Status RawAllReduceCoalesced(absl::Span<const internal::Buffer> buffers, DataType type,
                                     ReduceOp op, const CallOptions& options);
  absl::Status RawBroadcast(void* data, size_t count, DataType type, int root,
                            const CallOptions& options);
  absl::Status RawReduce(const void* in, size_t in_count, void* out, size_t out_count,
                         DataType type, ReduceOp op, int root, const CallOptions& options);
  absl::Status RawAllGather(const void* in, size_t in_count, void* out, size_t out_count,
                            DataType type, const CallOptions& options);
  absl::Status RawReduceScatter(const void* in, size_t in_count, void* out, size_t out_count,
                                DataType type, ReduceOp op, const CallOptions& options);
  absl::Status RawSend(const void* data, size_t count, DataType type, int peer,
                       const CallOptions& options);
  absl::Status RawRecv(void* data, size_t count, DataType type, int peer,
                       const CallOptions& options);

  Group group_;
  CommunicatorOptions options_;
  std::string backend_name_;
  std::unique_ptr<internal::Backend> backend_;
  absl::Mutex mutex_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);  // the first error that finished the communicator
  Subscription failure_;                      // last: its callback uses the others
};

template <class T>
absl::Status Communicator::AllReduce(absl::Span<T> data, ReduceOp op, const CallOptions& options) {
  return RawAllReduce(data.data(), data.size(), data.data(), data.size(), DataTypeOf<T>(), op,
                      options);
}
template <class T>
absl::Status Communicator::AllReduce(absl::Span<const T> in, absl::Span<T> out, ReduceOp op,
                                     const CallOptions& options) {
  return RawAllReduce(in.data(), in.size(), out.data(), out.size(), DataTypeOf<T>(), op, options);
}
template <class T>
absl::Status Communicator::AllReduceCoalesced(absl::Span<const absl::Span<T>> buffers, ReduceOp op,
                                              const CallOptions& options) {
  std::vector<internal::Buffer> list;
  list.reserve(buffers.size());
  for (const absl::Span<T>& buffer : buffers) list.push_back({buffer.data(), buffer.size()});
  return RawAllReduceCoalesced(list, DataTypeOf<T>(), op, options);
}
template <class T>
absl::Status Communicator::Broadcast(absl::Span<T> data, int root, const CallOptions& options) {
  return RawBroadcast(data.data(), data.size(), DataTypeOf<T>(), root, options);
}
template <class T>
absl::Status Communicator::Reduce(absl::Span<const T> in, absl::Span<T> out, ReduceOp op, int root,
                                  const CallOptions& options) {
  return RawReduce(in.data(), in.size(), out.data(), out.size(), DataTypeOf<T>(), op, root,
                   options);
}
template <class T>
absl::Status Communicator::AllGather(absl::Span<const T> in, absl::Span<T> out,
                                     const CallOptions& options) {
  return RawAllGather(in.data(), in.size(), out.data(), out.size(), DataTypeOf<T>(), options);
}
template <class T>
absl::Status Communicator::ReduceScatter(absl::Span<const T> in, absl::Span<T> out, ReduceOp op,
                                         const CallOptions& options) {
  return RawReduceScatter(in.data(), in.size(), out.data(), out.size(), DataTypeOf<T>(), op,
                          options);
}
template <class T>
absl::Status Communicator::Send(absl::Span<const T> data, int peer, const CallOptions& options) {
  return RawSend(data.data(), data.size(), DataTypeOf<T>(), peer, options);
}
template <class T>
absl::Status Communicator::Recv(absl::Span<T> data, int peer, const CallOptions& options) {
  return RawRecv(data.data(), data.size(), DataTypeOf<T>(), peer, options);
}

}  // namespace muster

#endif  // MUSTER_COMMUNICATOR_H_
