#ifndef MUSTER_CLIENT_NCCL_WAIT_H_
#define MUSTER_CLIENT_NCCL_WAIT_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/nccl/handle.h"
#include "client/src/base/deadline.h"

namespace muster::internal {

// Waits until all work on `stream` is done, by polling it and the communicator whose work it is.
// Any error ends that communicator, and is returned only when NCCL has stopped, so that nothing
// writes to the caller's buffers any more; where it does not stop, the text says so. `what` is what
// the caller waits for: "AllReduce of 10 float32 (sum)".
absl::Status AwaitStream(NcclHandle& handle, cudaStream_t stream, absl::string_view what,
                         const Deadline& deadline);

// The same for work of this library's own: no communicator is looked at, and none ends.
absl::Status AwaitOwnStream(cudaStream_t stream, absl::string_view what, const Deadline& deadline);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_WAIT_H_
