#ifndef MUSTER_CLIENT_NCCL_ERRORS_H_
#define MUSTER_CLIENT_NCCL_ERRORS_H_

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// What CUDA and NCCL return, as absl::Status.
namespace muster::internal {

// OK, or INTERNAL: "cudaMalloc failed: out of memory (cudaErrorMemoryAllocation)". Clears CUDA's
// last error, which would otherwise be taken for that of the program's next call.
absl::Status CudaStatus(absl::string_view call, cudaError_t error);

// OK, or
//   UNAVAILABLE          a connection to a peer failed (ncclRemoteError, ncclSystemError, and
//                        ncclInternalError, which NCCL's bootstrap returns for it too);
//   FAILED_PRECONDITION  NCCL refuses what was asked of it;
//   INTERNAL             CUDA failed.
// The text has `what`, NCCL's name of the error, and the last error that NCCL noted in this
// process.
absl::Status NcclStatus(absl::string_view what, ncclResult_t result);

// "NCCL says: unhandled system error (...); its last error: Connect to 10.0.0.1 failed".
std::string NcclText(ncclResult_t result);

// The last error that NCCL noted in this process, which may be an old one; empty if there is none.
std::string LastNcclError();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_ERRORS_H_
