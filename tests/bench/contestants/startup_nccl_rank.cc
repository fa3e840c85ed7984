#include <cuda_runtime_api.h>

#include "muster/nccl.h"
#include "tests/bench/contestants/startup_rank.h"

namespace muster::testing {
namespace {

absl::Status CudaStatus(cudaError_t error) {
  return error == cudaSuccess ? absl::OkStatus() : absl::InternalError(cudaGetErrorString(error));
}

}  // namespace

absl::Status FirstAllReduce(Job& job) {
  const auto comm = NcclCommunicator::Create(job);
  if (!comm.ok()) return comm.status();
  void* data = nullptr;
  cudaStream_t stream = nullptr;
  absl::Status status = CudaStatus(cudaMalloc(&data, kFloats * sizeof(float)));
  if (status.ok()) status = CudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  if (status.ok()) {
    status = (*comm)->AllReduce(data, data, kFloats, DataType::kFloat32, ReduceOp::kMax, stream);
  }
  return status.ok() ? (*comm)->Wait(stream) : status;
}

}  // namespace muster::testing
