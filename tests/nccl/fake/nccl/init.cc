// New communicators, from ids.

#include <utility>
#include <vector>

#include "tests/nccl/fake/nccl/bootstrap/rank_bootstrap.h"
#include "tests/nccl/fake/nccl/comm.h"
#include "tests/nccl/fake/nccl/config.h"
#include "tests/nccl/fake/nccl/error.h"
#include "tests/nccl/fake/nccl/fault.h"
#include "tests/nccl/fake/nccl/operations/group_calls.h"

namespace fake_nccl {
namespace {

constexpr unsigned kMagic = 0xcafebeef;  // of NCCL_CONFIG_INITIALIZER
constexpr size_t kDeviceBytes = 1 << 20;

ncclResult_t CudaFailure(cudaError_t error) {
  return Refuse(ncclUnhandledCudaError, "Cuda failure %d '%s'", error, cudaGetErrorString(error));
}

ncclResult_t Initialize(ncclComm_t comm, const std::vector<ncclUniqueId>& ids) {
  if (ncclResult_t result = AllocateDeviceMemory(comm); result != ncclSuccess) return result;
  const ncclResult_t result = Bootstrap(comm, ids);
  comm->initialized = result == ncclSuccess;
  return result;
}

ncclResult_t CheckArguments(int size, int rank, int ids) {
  if (ids <= 0 || ids > size) {
    return Refuse(ncclInvalidArgument, "improper usage of ncclCommInitRank: nId = %d, nranks=%d",
                  ids, size);
  }
  if (rank < 0 || rank >= size) {
    return Refuse(ncclInvalidArgument, "Invalid rank requested : %d/%d", rank, size);
  }
  if (Fault("init-refuse")) {
    return Refuse(ncclSystemError, "Bootstrap : no usable listening interface found");
  }
  return ncclSuccess;
}

ncclResult_t Begin(ncclComm_t* out, int size, int rank, const std::vector<ncclUniqueId>& ids,
                   const ncclConfig_t* config) {
  int device = 0;
  bool blocking = true;
  if (cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return CudaFailure(error);
  ncclResult_t result = ReadBlocking(config, /*otherwise=*/true, &blocking);
  if (result == ncclSuccess) result = CheckArguments(size, rank, static_cast<int>(ids.size()));
  if (result != ncclSuccess) return result;
  const ncclComm_t comm = *out = NewComm(rank, size);
  comm->device = device;
  comm->blocking = blocking;
  if (config != nullptr) comm->max_ctas = config->maxCTAs;
  AddJob(comm, [comm, ids] { return Initialize(comm, ids); });
  return ncclSuccess;
}

ncclResult_t InitRank(ncclComm_t* out, int size, int rank, const std::vector<ncclUniqueId>& ids,
                      const ncclConfig_t* config) {
  if (out == nullptr) return RefuseNull("ncclCommInitRank");
  *out = nullptr;
  return RunInGroup(out, [&] { return Begin(out, size, rank, ids, config); });
}

}  // namespace

ncclResult_t ReadBlocking(const ncclConfig_t* config, bool otherwise, bool* blocking) {
  *blocking = otherwise;
  if (config == nullptr) return ncclSuccess;
  if (config->magic != kMagic) {
    return Refuse(ncclInvalidArgument,
                  "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
  }
  if (config->blocking != NCCL_CONFIG_UNDEF_INT) *blocking = config->blocking != 0;
  return ncclSuccess;
}

ncclResult_t AllocateDeviceMemory(ncclComm_t comm) {
  cudaError_t error = cudaSetDevice(comm->device);
  if (error == cudaSuccess) error = cudaMalloc(&comm->memory, kDeviceBytes);
  return error == cudaSuccess ? ncclSuccess : CudaFailure(error);
}

}  // namespace fake_nccl

extern "C" {

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  return fake_nccl::InitRank(comm, size, rank, {id}, nullptr);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return fake_nccl::InitRank(comm, size, rank, {id}, config);
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 23, 0)
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int size, int rank, int count,
                                      ncclUniqueId* ids, ncclConfig_t* config) {
  return fake_nccl::InitRank(comm, size, rank, {ids, ids + count}, config);
}
#endif

}  // extern "C"
