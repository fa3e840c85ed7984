// NCCL's operations, and the checks of their arguments.

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/fake/nccl/comm.h"
#include "tests/nccl/fake/nccl/error.h"
#include "tests/nccl/fake/nccl/fault.h"
#include "tests/nccl/fake/nccl/operations/group_calls.h"
#include "tests/nccl/fake/nccl/operations/nccl_operation.h"
#include "tests/nccl/fake/nccl/operations/reduce.h"

namespace fake_nccl {
namespace {

ncclResult_t CheckArguments(const ncclComm& comm, const Operation& op) {
  if (SizeOf(op.type) == 0) {
    return Refuse(ncclInvalidArgument, "%s : invalid type %d", op.function, op.type);
  }
  if (op.reduction < 0 || op.reduction >= ncclNumOps) {
    return Refuse(ncclInvalidArgument, "%s : invalid reduction operation %d", op.function,
                  op.reduction);
  }
  if (op.peer < 0 || op.peer >= comm.size) {
    return Refuse(ncclInvalidArgument, "%s : invalid root %d (root should be in the 0..%d range)",
                  op.function, op.peer, comm.size);
  }
  return ncclSuccess;
}

// Ends the process if the kernel cannot reach its memory. A real kernel would end the process's use
// of the device.
void CheckReach(const Operation& op, const void* pointer, size_t parts) {
  const size_t bytes = op.count * SizeOf(op.type) * parts;
  if (bytes > 0 && fake_cuda::Reach(pointer, bytes) == nullptr) {
    fake_cuda::Violation("%s on %zu bytes at %p, which the device cannot reach", op.function, bytes,
                         pointer);
  }
}

void CheckMemory(const ncclComm& comm, const Operation& op) {
  CheckReach(op, op.in, PartsRead(op, comm.rank, comm.size));
  CheckReach(op, op.out, PartsWritten(op, comm.rank, comm.size));
}

ncclResult_t Begin(ncclComm_t comm, const Operation& op) {
  if (comm->finalized) fake_cuda::Violation("%s after ncclCommFinalize", op.function);
  if (ncclResult_t ready = EnsureReady(comm); ready != ncclSuccess) return ready;
  if (ncclResult_t result = CheckArguments(*comm, op); result != ncclSuccess) return result;
  if (Fault("op-refuse"))
    return Refuse(ncclInternalError, "%s : Unhandled proxy error", op.function);
  CheckMemory(*comm, op);
  AddOperation(comm, op);
  return ncclSuccess;
}

// Enqueues an operation. The state of a revoked communicator does not change.
ncclResult_t Enqueue(ncclComm_t comm, const Operation& op) {
  if (comm == nullptr) return RefuseNull(op.function);
  const Call call(comm, op.function);
  if (comm->revoked) {
    return Refuse(ncclInvalidUsage, "%s: communicator was revoked", op.function);
  }
  return RunInGroup(&comm, [&] { return Begin(comm, op); });
}

}  // namespace
}  // namespace fake_nccl

using fake_nccl::Enqueue;
using fake_nccl::OperationKind;

extern "C" {

ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type,
                           ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream) {
  return Enqueue(comm,
                 {OperationKind::kAllReduce, __func__, in, out, count, type, reduction, 0, stream});
}

ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return Enqueue(
      comm, {OperationKind::kBroadcast, __func__, in, out, count, type, ncclSum, root, stream});
}

ncclResult_t ncclBcast(void* data, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return ncclBroadcast(data, data, count, type, root, comm, stream);
}

ncclResult_t ncclReduce(const void* in, void* out, size_t count, ncclDataType_t type,
                        ncclRedOp_t reduction, int root, ncclComm_t comm, cudaStream_t stream) {
  return Enqueue(comm,
                 {OperationKind::kReduce, __func__, in, out, count, type, reduction, root, stream});
}

ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return Enqueue(comm,
                 {OperationKind::kAllGather, __func__, in, out, count, type, ncclSum, 0, stream});
}

ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type,
                               ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream) {
  return Enqueue(
      comm, {OperationKind::kReduceScatter, __func__, in, out, count, type, reduction, 0, stream});
}

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return Enqueue(
      comm, {OperationKind::kSend, __func__, data, nullptr, count, type, ncclSum, peer, stream});
}

ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return Enqueue(
      comm, {OperationKind::kRecv, __func__, nullptr, data, count, type, ncclSum, peer, stream});
}

}  // extern "C"
