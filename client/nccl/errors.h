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
// last error, which would otherwise be taken for that of the program's next call. If the error
// stays in the CUDA context for good, the text says so: the process has to be restarted.
absl::Status CudaStatus(absl::string_view call, cudaError_t error);

// OK, or
//   UNAVAILABLE          a connection to a peer failed (ncclRemoteError, ncclSystemError, and
//                        ncclInternalError, which NCCL's bootstrap returns for it too);
//   FAILED_PRECONDITION  NCCL refuses what was asked of it;
//   INTERNAL             CUDA failed, says NCCL.
// The text has `what`, NCCL's name of the error, and the last error that NCCL noted in this
// process.
absl::Status NcclStatus(absl::string_view what, ncclResult_t result);

// Whether the loss of a peer may be behind an error: UNAVAILABLE, and what CUDA fails with for
// good. Where GPUs write to each other's memory, by NVLink or PCIe, the death of a process is an
// error of CUDA's in the processes that used its memory (cudaErrorIllegalAddress,
// cudaErrorNvlinkUncorrectable and others), and no connection breaks.
bool MayBeLostPeer(const absl::Status& error);

// The code and the text of an error, for logs: without its payloads, which only Muster reads.
std::string TextOf(const absl::Status& error);

// "NCCL says: unhandled system error (...); NCCL's last error in this process: Connect to 10.0.0.1
// failed". Ask for it directly after the call that failed.
std::string NcclText(ncclResult_t result);

// The last error that NCCL noted in this process, for whichever communicator, maybe long ago; empty
// if there is none.
std::string LastNcclError();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_ERRORS_H_
