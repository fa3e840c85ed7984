#include "client/src/data_plane/backend.h"

#include <algorithm>
#include <cstring>

#include "client/src/base/steady_clock.h"

namespace muster::internal {

absl::Status Backend::AllReduceCoalesced(absl::Span<const Buffer> buffers, DataType type,
                                         ReduceOp op, const CallOptions& options) {
  const SteadyTime start = SteadyClock::now();
  CallOptions remaining = options;
  for (const Buffer& buffer : buffers) {
    const absl::Duration elapsed = Between(start, SteadyClock::now());
    remaining.timeout = std::max(*options.timeout - elapsed, absl::ZeroDuration());
    absl::Status status = AllReduce(buffer.data, buffer.data, buffer.count, type, op, remaining);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Backend::Copy(const void* from, void* to, size_t bytes, const CallOptions& options) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

}  // namespace muster::internal
