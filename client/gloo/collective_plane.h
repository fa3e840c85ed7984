#ifndef MUSTER_CLIENT_GLOO_COLLECTIVE_PLANE_H_
#define MUSTER_CLIENT_GLOO_COLLECTIVE_PLANE_H_

#include <cstddef>

#include "absl/types/span.h"
#include "client/gloo/operation.h"

namespace muster::internal {

// A way that the collectives of a communicator go. `operation` gives count, element type, reduction
// and root. All of them block. They throw Interrupted, PeerEnded, or what Gloo throws.
class CollectivePlane {
 public:
  virtual ~CollectivePlane() = default;

  virtual void AllReduce(const Operation& operation, const void* in, void* out) = 0;
  // `out` is used on the root only.
  virtual void Reduce(const Operation& operation, const void* in, void* out) = 0;
  virtual void Broadcast(const Operation& operation, void* data) = 0;
  virtual void AllGather(const Operation& operation, const void* in, void* out) = 0;
  // `counts` has the elements of each rank.
  virtual void AllGatherUneven(const Operation& operation, const void* in,
                               absl::Span<const size_t> counts, void* out) = 0;
  virtual void ReduceScatter(const Operation& operation, const void* in, void* out) = 0;
  virtual void Barrier(const Operation& operation) = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_COLLECTIVE_PLANE_H_
