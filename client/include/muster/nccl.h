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

// NCCL on the caller's own CUDA streams:
//
//   auto comm = muster::NcclCommunicator::Create(job);
//   if (!comm.ok()) return comm.status();
//   absl::Status enqueued =
//       (*comm)->AllReduce(gradients, gradients, count, muster::DataType::kFloat32,
//                          muster::ReduceOp::kAverage, stream);  // enqueues, as NCCL does
//   if (!enqueued.ok()) return enqueued;
//   return (*comm)->Wait(stream);  // never hangs; names the rank that is lost
//
// This is the only header of Muster that shows types of CUDA and NCCL. For blocking calls use
// muster/communicator.h, which runs on NCCL too if the program links //client/nccl.
namespace muster {

// Options of NcclCommunicator::Create().
struct NcclOptions {
  // The CUDA device, as this process numbers them; CUDA_VISIBLE_DEVICES applies. Unset: the only
  // visible device, or else the device at this process's local rank.
  std::optional<int> device;

  // Allows two ranks of the group to use one GPU. For tests. All ranks must allow it; the variable
  // MUSTER_ALLOW_SHARED_GPU=1 allows it too. NCCL itself refuses it, unless each process has its
  // own NCCL_HOSTID. GPUs are compared by UUID.
  bool allow_shared_gpu = false;

  // The default time-out of Create(), Split() and Wait(). Unset: the job's default.
  std::optional<absl::Duration> timeout;

  // Ends Create() with CANCELLED once it is cancelled. Not owned.
  Cancellation* cancellation = nullptr;

  // NCCL's own configuration (maxCTAs, trafficClass, splitShare...), for this communicator and the
  // communicators that Split() makes from it. Muster copies the strings in it and keeps the copies
  // until the process ends. With splitShare == 1 (or NCCL_COMM_SPLIT_SHARE_RESOURCES=1, also in
  // nccl.conf) NCCL cannot stop a communicator alone: see Split(). Fields that NCCL requires to be
  // equal on all ranks must be equal. `blocking` belongs to Muster: a value other than 0 is
  // INVALID_ARGUMENT.
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
};

// A buffer of an all-reduce of many buffers, in device memory.
struct AllReducePart {
  const void* in = nullptr;            // this rank's values
  void* out = nullptr;                 // the result; == in: in place
  size_t count = 0;                    // number of elements
  DataType type = DataType::kFloat32;  // of each element
};

namespace internal {
class NcclHandle;
}  // namespace internal

// An NCCL communicator over a group, bootstrapped by the job.
//
// Operations enqueue work on a stream and return, as NCCL's own do. The first operations may block
// while NCCL connects to the peers, for at most the default time-out. Wait() returns when the work
// is done. Pointers are device pointers, or memory that device() can reach. All ranks enqueue the
// same operations in the same order. Counts are numbers of elements.
//
// A stream is made by cudaStreamCreate, or null: the legacy default stream of device(). Null means
// that stream even in programs compiled with --default-stream per-thread; the legacy stream and the
// per-thread streams wait for each other. Operations return INVALID_ARGUMENT for
// cudaStreamPerThread: NCCL launches from a thread of its own, where it means another stream. Calls
// other than Create() keep the calling thread's current device.
//
// When a member of the job is lost, all communicators of this process are stopped before any is
// freed. Waits end, and every later call returns the error that names the lost rank. A single
// communicator is stopped when NCCL reports an error, or when a Wait() times out or is cancelled. A
// stopped communicator cannot be used again: create a new one.
//
// Destroy the CUDA graphs that captured a communicator's operations before the communicator itself.
// NCCL waits for them forever when it finalizes the communicator. The destructor then returns after
// the time-out, and the communicator is never freed. Other communicators are not affected.
//
// Inside a scope of muster/scopes.h, a collective enqueues a copy of this rank's own value, and
// Create() and Split() return FAILED_PRECONDITION.
//
// Thread-safe. Calls are serialized, but a call that waits does not block the others. Error codes
// are those of Communicator. Error texts name rank, node and device, and NCCL's last error.
class NcclCommunicator final : public TensorOperations {
 public:
  // Creates a communicator over the ranks of `group`, or all ranks of `job`, which all must call
  // it. Blocks until NCCL is initialized on every rank. Makes the device current on the calling
  // thread, as cudaSetDevice does. When the Job is destroyed, the communicator ends with CANCELLED.
  // Errors as in Group, and
  //   FAILED_PRECONDITION  there is no usable GPU; two ranks use one GPU (names both); NCCL_COMM_ID
  //                        is set, in the environment or in nccl.conf; the ranks have different
  //                        NCCL versions, or different settings that must be equal (NCCL_ALGO,
  //                        config.maxCTAs...); or a rank could not initialize NCCL (says why);
  //   INVALID_ARGUMENT     the device does not exist;
  //   DEADLINE_EXCEEDED    names the ranks that have not called it, or where NCCL did not finish;
  //   UNAVAILABLE          NCCL's connections broke, but no process is known to be lost; or the
  //                        coordinator could not be reached for JobOptions::coordinator_timeout;
  //   INTERNAL             CUDA failed; says how. If the loss of a peer is the cause, the error
  //                        that names the peer is returned instead.
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
  // Returns the error of Join() if `job` holds it.
  static absl::StatusOr<std::unique_ptr<NcclCommunicator>> Create(
      const absl::StatusOr<std::unique_ptr<Job>>& job, const NcclOptions& options = {}) {
    if (!job.ok()) return job.status();
    return Create(*job, options);
  }

  // Frees the communicator. If it is healthy, finalizes it first: waits for enqueued work, for at
  // most the time-out. NCCL makes the ranks of a node wait for each other here; before NCCL 2.24,
  // all ranks wait for each other.
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // Return this process's index in the group, the number of ranks, and the number of the CUDA
  // device.
  int rank() const override;
  int size() const override;
  int device() const;

  // Returns OK, or the error that stopped this communicator. Does not block.
  absl::Status health() const;

  // Enqueue an operation on `stream`. Sizes and in-place rules are NCCL's: `count` is the number of
  // elements of `in` for AllGather, and of `out` for ReduceScatter. ReduceOp::kAverage is ncclAvg.
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

  // Sends and receives at the same time, so that all ranks of a ring may call it. `to` and `from`
  // may be this rank.
  absl::Status SendRecv(const void* out, size_t out_count, int to, void* in, size_t in_count,
                        int from, DataType type, cudaStream_t stream);
  // Sends and receives many tensors at the same time. See Communicator::SendRecv().
  absl::Status SendRecv(absl::Span<const OutgoingTensor> sends,
                        absl::Span<const IncomingTensor> receives, cudaStream_t stream);
  // Sends part i of `in` to rank i, and receives part i of `out` from it. `count` is the number of
  // elements of one part.
  absl::Status AllToAll(const void* in, void* out, size_t count, DataType type,
                        cudaStream_t stream);
  // Gathers parts of different sizes. `counts` has the number of elements of each rank, and is the
  // same on all ranks.
  absl::Status AllGather(const void* in, absl::Span<const size_t> counts, void* out, DataType type,
                         cudaStream_t stream);

  // Reduces many buffers, such as the gradients of a model, in one launch.
  absl::Status AllReduce(absl::Span<const AllReducePart> buffers, ReduceOp op, cudaStream_t stream);

  // Runs `calls` as one NCCL group, in one launch. `calls` may only call operations of this
  // communicator. A Send and a Recv in one group do not wait for each other. Returns the error of
  // `calls` (INTERNAL, with the text, if it throws), or else the error of the group. An error
  // inside the group stops the communicator, because NCCL cannot undo the calls before it.
  absl::Status Grouped(absl::FunctionRef<absl::Status(NcclCommunicator&)> calls);

  // Blocks until all work on `stream` is done. Polls the stream, NCCL's asynchronous error and the
  // job's health, and never calls cudaStreamSynchronize. So if a peer dies, this returns the error
  // that names it. Afterwards the buffers may be freed, unless the error says that NCCL has not
  // stopped.
  //   DEADLINE_EXCEEDED, CANCELLED  stop the communicator.
  // If another rank with the same /dev/shm has stopped NCCL for this communicator, the stream
  // becomes idle but its result is invalid. Then this returns the job's error, or an error that
  // names that rank: DEADLINE_EXCEEDED if its time-out has passed, or else UNAVAILABLE.
  // docs/nccl-reference.md says what holds between nodes.
  absl::Status Wait(cudaStream_t stream, const CallOptions& options = {});

  // The same operations on tensors, which block; see TensorOperations. Each enqueues on
  // CallOptions::stream and calls Wait(), for at most the default time-out.
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

  // Splits the ranks of this communicator, and returns the communicator over `part`, which has this
  // rank. All ranks of this communicator must call it. The parts are disjoint, and all ranks of a
  // part pass the same group. A rank that passes nullopt is in no part and gets nullptr. Cheaper
  // than Create(). Blocks. If it fails on one rank, it fails on all, and may stop this
  // communicator. Call Wait() for enqueued work first: NCCL allocates memory here, and CUDA may
  // wait for the device.
  //
  // If NCCL lets the two communicators share resources (NcclOptions::config), they end together:
  // the failure or time-out of one stops both, and later calls on the other return the same code
  // and say so. The reason: they have one abort flag in NCCL, so the other's kernels would end too
  // and leave wrong data. Destroying a healthy communicator never stops the other.
  absl::StatusOr<std::unique_ptr<NcclCommunicator>> Split(const std::optional<Group>& part,
                                                          const CallOptions& options = {});

  // Makes an NCCL call that Muster does not wrap, such as ncclCommRegister or
  // ncclCommWindowRegister. `call` runs on this thread with device() current, makes one NCCL call
  // on `comm`, and returns its result. Other calls on this object wait meanwhile. Blocks until NCCL
  // has completed the call: the communicator is non-blocking, so ncclInProgress counts as success,
  // and NCCL may write its results late. Within Grouped() it returns after the call.
  //
  //   void* registration = nullptr;
  //   absl::Status status = comm.WithHandle([&](ncclComm_t handle) {
  //     return ncclCommRegister(handle, buffer, bytes, &registration);
  //   });
  //
  // `call` must not keep, free, finalize, revoke or split `comm`, and must not call this object. An
  // error, a time-out (of `options`, or the default) and a cancellation stop the communicator. To
  // tolerate an error of NCCL, return ncclSuccess. Returns INTERNAL if `call` throws. If the error
  // of a time-out says that NCCL has not stopped, NCCL may still write through the pointers.
  absl::Status WithHandle(absl::FunctionRef<ncclResult_t(ncclComm_t comm)> call,
                          const CallOptions& options = {});

  // Not for programs.
  explicit NcclCommunicator(std::shared_ptr<internal::NcclHandle> handle);

 private:
  // Returns `arguments` if it is an error. Otherwise runs `enqueue`, and waits for the caller's
  // stream.
  absl::Status Run(const absl::Status& arguments, const CallOptions& options,
                   absl::FunctionRef<absl::Status(cudaStream_t)> enqueue);

  std::shared_ptr<internal::NcclHandle> handle_;
};

// Half precision for Communicator's templates. Gloo has no arithmetic on it.
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
