#ifndef MUSTER_CLIENT_GLOO_PLANES_SHARED_PLANE_H_
#define MUSTER_CLIENT_GLOO_PLANES_SHARED_PLANE_H_

#include <memory>

#include "client/gloo/collectives/collective_plane.h"
#include "client/gloo/node_memory/node_memory.h"

namespace muster::internal {

// A plane for a communicator whose ranks all share the memory of one node.
class SharedPlane final : public CollectivePlane {
 public:
  SharedPlane(std::unique_ptr<NodeMemory> memory, int ranks);

  void AllReduce(const Operation& operation, const void* in, void* out) override;
  void Reduce(const Operation& operation, const void* in, void* out) override;
  void Broadcast(const Operation& operation, void* data) override;
  void AllGather(const Operation& operation, const void* in, void* out) override;
  void AllGatherUneven(const Operation& operation, const void* in, absl::Span<const size_t> counts,
                       void* out) override;
  void ReduceScatter(const Operation& operation, const void* in, void* out) override;
  void Barrier(const Operation& operation) override;

 private:
  const std::unique_ptr<NodeMemory> memory_;
  SharedCollectives& collectives_;
  const int ranks_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_PLANES_SHARED_PLANE_H_
