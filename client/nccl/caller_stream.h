#ifndef MUSTER_CLIENT_NCCL_CALLER_STREAM_H_
#define MUSTER_CLIENT_NCCL_CALLER_STREAM_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/nccl/communicator/handle.h"

namespace muster::internal {

// Returns INVALID_ARGUMENT if `stream` is cudaStreamPerThread, which names another stream on every
// thread. NCCL launches the operations of a non-blocking communicator from its own thread
// (src/group.cc, groupLaunchNonBlocking), where the name means another stream than the caller's. So
// nothing would order the operation behind the caller's work, and waiting for the caller's stream
// would not wait for the operation.
inline absl::Status CheckStream(const NcclHandle& handle, absl::string_view operation,
                                cudaStream_t stream) {
  if (stream != cudaStreamPerThread) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      operation, " on rank ", handle.rank(), " of ", handle.size(),
      ": stream is cudaStreamPerThread, expected one that cudaStreamCreate has made, or the legacy "
      "default stream (null): NCCL launches from a thread of its own, whose per-thread stream is "
      "another one"));
}

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_CALLER_STREAM_H_
