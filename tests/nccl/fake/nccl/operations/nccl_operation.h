#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_OPERATIONS_NCCL_OPERATION_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_OPERATIONS_NCCL_OPERATION_H_

#include <nccl.h>

#include <cstddef>

namespace fake_nccl {

enum class OperationKind {
  kAllReduce,
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kSend,
  kRecv,
};

struct Operation {
  OperationKind kind;
  const char* function;  // the name of NCCL's function
  const void* in = nullptr;
  void* out = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int peer = 0;  // or root
  cudaStream_t stream = nullptr;
};

inline bool IsCollective(const Operation& operation) {
  return operation.kind != OperationKind::kSend && operation.kind != OperationKind::kRecv;
}

// Return how many times `count` elements the operation reads, or writes, on a rank.
inline size_t PartsRead(const Operation& operation, int rank, int size) {
  if (operation.kind == OperationKind::kBroadcast) return rank == operation.peer ? 1 : 0;
  if (operation.kind == OperationKind::kReduceScatter) return size;
  return operation.kind == OperationKind::kRecv ? 0 : 1;
}
inline size_t PartsWritten(const Operation& operation, int rank, int size) {
  if (operation.kind == OperationKind::kReduce) return rank == operation.peer ? 1 : 0;
  if (operation.kind == OperationKind::kAllGather) return size;
  return operation.kind == OperationKind::kSend ? 0 : 1;
}

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_OPERATIONS_NCCL_OPERATION_H_
