#ifndef MUSTER_CLIENT_NCCL_NCCL_EXCHANGE_H_
#define MUSTER_CLIENT_NCCL_NCCL_EXCHANGE_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/nccl/communicator/handle.h"
#include "client/src/data_plane/backend.h"

namespace muster::internal {

// Enqueues sends and receives on `stream` as one NCCL group, so that none waits for another. A peer
// may be this rank, which then receives its own message. An error ends the communicator, unless it
// is about a type that NCCL does not have.
absl::Status EnqueueExchange(NcclHandle& handle, absl::Span<const Message> sends,
                             absl::Span<const Message> receives, cudaStream_t stream);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_NCCL_EXCHANGE_H_
