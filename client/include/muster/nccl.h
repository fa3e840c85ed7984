#ifndef MUSTER_NCCL_H_
#define MUSTER_NCCL_H_

#include "muster/cxx17.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "muster/call_options.h"
#include "muster/communicator.h"
#include "muster/group.h"
#include "muster/job.h"
#include "muster/tensor_operations.h"

// NCCL on a caller's own CUDA streams. This is the only header of Muster that shows types of CUDA
// and NCCL. Programs that are content with blocking calls use muster/communicator.h, which runs on
// NCCL too where //client/nccl is linked.
//
//   auto job = muster::Job::Join(muster::JobOptions::FromEnvironment());
//   auto comm = muster::NcclCommunicator::Create(**job);
//   (*comm)->AllReduce(gradients, gradients, count, muster::DataType::kFloat32,
//                      muster::ReduceOp::kAverage, stream);    // enqueues, as NCCL does
//   absl::Status status = (*comm)->Wait(stream);               // names a lost rank; never hangs
namespace muster {

// Taken by NcclCommunicator::Create().
struct NcclOptions {
  // The CUDA device, as this process numbers them (CUDA_VISIBLE_DEVICES is respected). Unset: the
  // only visible one, else the one at this process's local rank.
  std::optional<int> device;

  // Two ranks of the group may use one GPU, told apart by its UUID. NCCL itself refuses that too,
  // unless each process has an NCCL_HOSTID of its own. For tests. All ranks must allow it;
  // MUSTER_ALLOW_SHARED_GPU=1 does so too.
  bool allow_shared_gpu = false;

  // Default time-out of Create(), Split() and Wait(). Unset: the job's.
  std::optional<absl::Duration> timeout;

  // Ends Create() with CANCELLED when cancelled. Not owned.
  Cancellation* cancellation = nullptr;

  // NCCL's own configuration (maxCTAs, trafficClass, splitShare...), for this communicator and
  // those made of it by Split(). Texts in it are copied; the copies live as long as the process.
  // With splitShare == 1 (or NCCL_COMM_SPLIT_SHARE_RESOURCES=1, also in nccl.conf) NCCL cannot stop
  // a communicator alone: see Split(). What NCCL wants to be the same on all ranks has to be.
  // `blocking` is Muster's: any value but 0 is INVALID_ARGUMENT.
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
};

// One of the buffers that an all-reduce of many reduces, in device memory.
struct AllReducePart {
  const void* in = nullptr;            // where this rank's values are
  void* out = nullptr;                 // == in: in place
  size_t count = 0;                    // elements
  DataType type = DataType::kFloat32;  // of each element
};

namespace internal {
class NcclHandle;
}  // namespace internal

// An NCCL communicator over a group, bootstrapped by the job.
//
// Operations enqueue work on a stream and return when it is enqueued, as NCCL's own do; the first
// ones may wait for the peers' while NCCL connects, for the default time-out at most. The device's
// work is done when Wait() says so. All pointers are device pointers (or memory that the device can
// reach) of device(). All ranks enqueue the same operations in the same order. Counts are in
// elements.
//
// A stream is one that cudaStreamCreate has made, or null, the legacy default stream of device().
// Null means this stream also in programs that are compiled with --default-stream per-thread; the
// legacy stream and the per-thread ones wait for each other. cudaStreamPerThread is
// INVALID_ARGUMENT in operations: NCCL launches from a thread of its own, where it names another
// stream. Calls other than Create() leave the calling thread's device as it was.
//
// When a member of the job is lost, every communicator of this process is stopped before any is
// freed, waits end, and every later call returns the error that names the lost rank. The same holds
// for one communicator when NCCL reports an error, or a Wait() ends by its time-out or its
// cancellation. A stopped communicator stays so: create a new one.
//
// Destroy the CUDA graphs that captured a communicator's operations before the communicator. NCCL
// waits for them without end when it finalizes one. The destructor then returns after the time-out
// and stops NCCL in vain: the communicator is never freed. Others are not affected.
//
// Inside a scope of muster/scopes.h a collective enqueues what it comes to there, which is this
// rank's own value, and Create() and Split() are refused.
//
// Thread-safe; calls are serialized, none blocks the others while it waits. The error codes are
// those of Communicator; the text names rank, node and device, and NCCL's own last error.
class NcclCommunicator final : public TensorOperations {
 public:
  // A collective of `group` (or of all ranks of `job`): every rank must call it. Blocks until NCCL
  // is initialized on every rank. When the Job is destroyed the communicator ends, with CANCELLED.
  // Makes the device current on the calling thread, as cudaSetDevice does. Errors: those of Group,
  // and
  //   FAILED_PRECONDITION  no usable GPU; two ranks on one GPU (names both); NCCL_COMM_ID is set
  //                        (in the environment, or in nccl.conf); NCCL versions that differ, or
  //                        settings of NCCL that must agree (NCCL_ALGO, config.maxCTAs...); or a
  //                        rank that could not initialize NCCL, and why;
  //   INVALID_ARGUMENT     there is no such device;
  //   DEADLINE_EXCEEDED    names the ranks that did not come, or on which NCCL did not end in time;
  //   UNAVAILABLE          NCCL's connections broke, but no process is known to be lost; or the
  //                        coordinator was given up (JobOptions::coordinator_timeout);
  //   INTERNAL             CUDA failed, and how. If the loss of a peer is behind it, the error that
  //                        names the peer is returned instead.
  static absl::StatusOr<std::unique_ptr<NcclCommunicator>> Create(const Group& group,
                                                                  const NcclOptions& options = {});
  static absl::StatusOr<std::unique_ptr<NcclCommunicator>> Create(const Job& job,
                                                                  const NcclOptions& options = {}) {
    return Create(job.world(), options);
  }
  static absl::StatusOr<std::unique_ptr<NcclCommunicator>> Create(const std::unique_ptr<Job>& job,
                                                                  const NcclOptions& options = {}) {
    if (job == nullptr) {
      return absl::InvalidArgumentError("NcclCommunicator::Create: the Job is null");
    }
    return Create(job->world(), options);
  }
  // The error of Join(), where that is what `job` holds.
  static absl::StatusOr<std::unique_ptr<NcclCommunicator>> Create(
      const absl::StatusOr<std::unique_ptr<Job>>& job, const NcclOptions& options = {}) {
    if (!job.ok()) return job.status();
    return Create(*job, options);
  }

  // Finalizes and frees a healthy communicator, and frees a stopped one; work that is still
  // enqueued on a healthy one is waited for, up to the time-out. NCCL makes ranks of one node wait
  // for each other here; with NCCL older than 2.24, all ranks do.
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // This process's index in the group, the number of its ranks, and its GPU as CUDA counts.
  int rank() const override;
  int size() const override;
  int device() const;

  // OK, or the error that stopped this communicator.
  absl::Status health() const;

  // The shapes and in-place rules are NCCL's; for AllGather `count` is that of `in`, for
  // ReduceScatter that of `out`. ReduceOp::kAverage is NCCL's ncclAvg.
  absl::Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                         cudaStream_t stream);
  absl::Status Broadcast(const void* in, void* out, size_t count, DataType type, int root,
                         cudaStream_t stream);
  absl::Status Reduce(const void* in, void* out, size_t count, DataType type, ReduceOp op, int root,
                      cudaStream_t stream);
  absl::Status AllGather(const void* in, void* out, size_t count, DataType type,
                         cudaStream_t stream);
  absl::Status ReduceScatter(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                             cudaStream_t stream);
  absl::Status Send(const void* data, size_t count, DataType type, int peer, cudaStream_t stream);
  absl::Status Recv(void* data, size_t count, DataType type, int peer, cudaStream_t stream);

  // Both at once, so that all ranks of a ring may do it. `to` and `from` may be this rank.
  absl::Status SendRecv(const void* out, size_t out_count, int to, void* in, size_t in_count,
                        int from, DataType type, cudaStream_t stream);
  // Many sends and receives, all at once; the rules are Communicator's.
  absl::Status SendRecv(absl::Span<const OutgoingTensor> sends,
                        absl::Span<const IncomingTensor> receives, cudaStream_t stream);
  // Part i of `in` goes to rank i, part i of `out` comes from it; `count` is that of one part.
  absl::Status AllToAll(const void* in, void* out, size_t count, DataType type,
                        cudaStream_t stream);
  // Parts of different sizes: `counts` has that of each rank, the same on all ranks.
  absl::Status AllGather(const void* in, absl::Span<const size_t> counts, void* out, DataType type,
                         cudaStream_t stream);

  // Many buffers (the gradients of a model, say) as one launch.
  absl::Status AllReduce(absl::Span<const AllReducePart> buffers, ReduceOp op, cudaStream_t stream);

  // Runs `calls`, which calls operations of this communicator and nothing else of it, as one NCCL
  // group: one launch; a Send and a Recv in one group do not wait for each other. Returns the
  // callback's error (INTERNAL, with its text, if it throws), else the group's. An error inside the
  // group stops the communicator: NCCL cannot take back what is in it.
  absl::Status Grouped(absl::FunctionRef<absl::Status(NcclCommunicator&)> calls);

  // Blocks until all work enqueued on `stream` is done. Polls the stream, NCCL's asynchronous error
  // and the job's health, and never sits in cudaStreamSynchronize: where a peer dies this returns
  // the error that names it. If another rank that shares this one's /dev/shm has stopped NCCL for
  // this communicator, the result is not valid, although the stream is idle: this returns the job's
  // error, or one that names that rank: DEADLINE_EXCEEDED if its time was up, else UNAVAILABLE
  // (docs/nccl.md has what holds between nodes).
  // DEADLINE_EXCEEDED and CANCELLED stop the communicator. After any return the buffers may be
  // freed, unless the text says that NCCL has not stopped.
  absl::Status Wait(cudaStream_t stream, const CallOptions& options = {});

  // The same on tensors, blocking: see TensorOperations. Each enqueues on CallOptions::stream, for
  // the default time-out at most, and does Wait() on it.
  absl::Status AllReduce(const TensorView& in, const MutableTensorView& out,
                         ReduceOp op = ReduceOp::kSum, const CallOptions& options = {}) override;
  absl::Status AllReduceCoalesced(absl::Span<const MutableTensorView> buffers,
                                  ReduceOp op = ReduceOp::kSum,
                                  const CallOptions& options = {}) override;
  absl::Status Broadcast(const MutableTensorView& data, int root = 0,
                         const CallOptions& options = {}) override;
  absl::Status Reduce(const TensorView& in, const MutableTensorView& out,
                      ReduceOp op = ReduceOp::kSum, int root = 0,
                      const CallOptions& options = {}) override;
  absl::Status AllGather(const TensorView& in, const MutableTensorView& out,
                         const CallOptions& options = {}) override;
  absl::Status AllGather(const TensorView& in, absl::Span<const size_t> counts,
                         const MutableTensorView& out, const CallOptions& options = {}) override;
  absl::Status ReduceScatter(const TensorView& in, const MutableTensorView& out,
                             ReduceOp op = ReduceOp::kSum,
                             const CallOptions& options = {}) override;
  absl::Status AllToAll(const TensorView& in, const MutableTensorView& out,
                        const CallOptions& options = {}) override;
  absl::Status Send(const TensorView& data, int peer, const CallOptions& options = {}) override;
  absl::Status Recv(const MutableTensorView& data, int peer,
                    const CallOptions& options = {}) override;
  absl::Status SendRecv(const TensorView& out, int to, const MutableTensorView& in, int from,
                        const CallOptions& options = {}) override;
  absl::Status SendRecv(absl::Span<const OutgoingTensor> sends,
                        absl::Span<const IncomingTensor> receives,
                        const CallOptions& options = {}) override;

  // Splits this communicator's ranks; a collective of all of them. `part`: the group this rank is
  // to be in, a subset of this communicator's ranks; disjoint parts, and every rank of a part
  // passes the same. nullopt: this rank is in none, and gets nullptr. Cheaper than Create().
  // Blocks. A failure on one rank is one on all, and may end this communicator. Wait() first for
  // what is enqueued: NCCL allocates memory here, for which CUDA may wait for the device.
  //
  // If NCCL lets the two share resources (NcclOptions::config), they end together: the failure or
  // time-out of one stops both, and every later call on the other returns the same code with a text
  // that says so. NCCL has one abort flag for them, so the other's kernels would end, too, and
  // leave wrong data as a success. Destroying a healthy one, in whatever order, does not end the
  // other.
  absl::StatusOr<std::unique_ptr<NcclCommunicator>> Split(const std::optional<Group>& part,
                                                          const CallOptions& options = {});

  // Makes an NCCL call that has no wrapper here: ncclCommRegister, ncclCommWindowRegister... `call`
  // runs on this thread with device() current, makes one NCCL call on `comm`, and returns its
  // result. No other call of this object comes in between. Blocks until NCCL is through with what
  // `call` began: the communicator does not block, so ncclInProgress counts as success, and what
  // NCCL writes through pointers may come only at the end. Within Grouped() it only makes the call.
  //
  //   void* registration = nullptr;
  //   absl::Status status = comm.WithHandle([&](ncclComm_t handle) {
  //     return ncclCommRegister(handle, buffer, bytes, &registration);
  //   });
  //
  // `call` must not keep `comm`, nor free, finalize, revoke or split it, nor call this object. An
  // error ends the communicator, as that of an operation does, and so do a time-out (of `options`,
  // or the default one) and a cancellation. To look at an error and go on, note it and return
  // ncclSuccess. INTERNAL if `call` throws. After a time-out NCCL may still write through the
  // pointers that it was given, if the text says that NCCL has not stopped.
  absl::Status WithHandle(absl::FunctionRef<ncclResult_t(ncclComm_t comm)> call,
                          const CallOptions& options = {});

  // Not for programs.
  explicit NcclCommunicator(std::shared_ptr<internal::NcclHandle> handle);

 private:
  // Waits for what `enqueue` puts on the caller's stream, unless `arguments` are refused.
  absl::Status Run(const absl::Status& arguments, const CallOptions& options,
                   absl::FunctionRef<absl::Status(cudaStream_t)> enqueue);

  std::shared_ptr<internal::NcclHandle> handle_;
};

// So that Communicator's templates take half precision; Gloo has no arithmetic on it.
template <>
constexpr DataType DataTypeOf<__half>() {
  return DataType::kFloat16;
}
template <>
constexpr DataType DataTypeOf<__nv_bfloat16>() {
  return DataType::kBfloat16;
}

}  // namespace muster

#endif  // MUSTER_NCCL_H_
