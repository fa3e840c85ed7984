#ifndef MUSTER_CLIENT_GLOO_COLLECTIVES_CONNECTION_PLANE_H_
#define MUSTER_CLIENT_GLOO_COLLECTIVES_CONNECTION_PLANE_H_

#include "client/gloo/collectives/collective_plane.h"
#include "client/gloo/collectives/gloo_collectives.h"

namespace muster::internal {

// A plane that runs Gloo's own collectives, over the connections between all ranks.
class ConnectionPlane final : public CollectivePlane {
 public:
  // `context` must outlive all calls.
  explicit ConnectionPlane(const GlooContext& context);

  void AllReduce(const Operation& operation, const void* in, void* out) override;
  void Reduce(const Operation& operation, const void* in, void* out) override;
  void Broadcast(const Operation& operation, void* data) override;
  void AllGather(const Operation& operation, const void* in, void* out) override;
  void AllGatherUneven(const Operation& operation, const void* in, absl::Span<const size_t> counts,
                       void* out) override;
  void ReduceScatter(const Operation& operation, const void* in, void* out) override;
  void Barrier(const Operation& operation) override;

 private:
  const GlooContext& context_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_COLLECTIVES_CONNECTION_PLANE_H_
