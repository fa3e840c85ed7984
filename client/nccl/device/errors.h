#ifndef MUSTER_CLIENT_NCCL_DEVICE_ERRORS_H_
#define MUSTER_CLIENT_NCCL_DEVICE_ERRORS_H_

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// Results of CUDA and NCCL as absl::Status.
namespace muster::internal {

// Returns OK, or INTERNAL: "cudaMalloc failed: out of memory (cudaErrorMemoryAllocation)". Clears
// CUDA's last error, which the program's next call would otherwise report. If the error stays in
// the CUDA context, the text says that the process must be restarted.
absl::Status CudaStatus(absl::string_view call, cudaError_t error);

// Returns OK, or an error:
//   UNAVAILABLE          A connection to a peer failed (ncclRemoteError, ncclSystemError, and
//                        ncclInternalError, which NCCL's bootstrap returns for it too).
//   FAILED_PRECONDITION  NCCL rejects the call.
//   INTERNAL             NCCL reports that CUDA failed.
// The text has `what`, NCCL's name of the error, and the last error that NCCL recorded in this
// process.
absl::Status NcclStatus(absl::string_view what, ncclResult_t result);

// Returns whether the loss of a peer may be the cause of an error. This is so for UNAVAILABLE, and
// for errors that stay in the CUDA context. If GPUs write to each other's memory by NVLink or PCIe,
// no connection breaks when a process dies. Instead, the processes that used its memory see a CUDA
// error (cudaErrorIllegalAddress, cudaErrorNvlinkUncorrectable and others).
bool MayBeLostPeer(const absl::Status& error);

// Returns "NCCL says: unhandled system error (...); NCCL's last error in this process: Connect to
// 10.0.0.1 failed". Call it directly after the call that failed.
std::string NcclText(ncclResult_t result);

// Returns the last error that NCCL recorded in this process, for any communicator and maybe long
// ago, or an empty text.
std::string LastNcclError();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_DEVICE_ERRORS_H_
