#ifndef MUSTER_CLIENT_NCCL_COMMUNICATOR_WAIT_H_
#define MUSTER_CLIENT_NCCL_COMMUNICATOR_WAIT_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/nccl/communicator/handle.h"
#include "client/src/base/deadline.h"

namespace muster::internal {

// Blocks until all work on `stream` is done, by polling the stream and its communicator. An error
// ends the communicator. It is returned only once NCCL has stopped, so nothing writes to the
// caller's buffers any more; if NCCL does not stop, the text says so. `what` names the work that
// the caller waits for: "AllReduce of 10 float32 (sum)".
absl::Status AwaitStream(NcclHandle& handle, cudaStream_t stream, absl::string_view what,
                         const Deadline& deadline);

// Blocks until this library's own work on `stream` is done. Polls no communicator, and ends none.
absl::Status AwaitOwnStream(cudaStream_t stream, absl::string_view what, const Deadline& deadline);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_COMMUNICATOR_WAIT_H_
