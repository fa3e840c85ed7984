#ifndef MUSTER_CLIENT_GLOO_COLLECTIVES_COLLECTIVE_PLANE_H_
#define MUSTER_CLIENT_GLOO_COLLECTIVES_COLLECTIVE_PLANE_H_

#include <cstddef>

#include "absl/types/span.h"
#include "client/gloo/collectives/operation.h"

namespace muster::internal {

// A way to run the collectives of one communicator: through shared memory, over connections, or
// both. GlooBackend chooses one when the ranks meet (see README.md) and calls it from one thread.
// `operation` gives the count, element type, reduction and root. All calls block until this rank's
// part is done. They throw Interrupted, PeerEnded, or what Gloo throws.
class CollectivePlane {
 public:
  virtual ~CollectivePlane() = default;

  virtual void AllReduce(const Operation& operation, const void* in, void* out) = 0;
  // Writes `out` on the root only.
  virtual void Reduce(const Operation& operation, const void* in, void* out) = 0;
  virtual void Broadcast(const Operation& operation, void* data) = 0;
  virtual void AllGather(const Operation& operation, const void* in, void* out) = 0;
  // Gathers parts of different sizes; `counts` has the number of elements of each rank.
  virtual void AllGatherUneven(const Operation& operation, const void* in,
                               absl::Span<const size_t> counts, void* out) = 0;
  virtual void ReduceScatter(const Operation& operation, const void* in, void* out) = 0;
  virtual void Barrier(const Operation& operation) = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_COLLECTIVES_COLLECTIVE_PLANE_H_
