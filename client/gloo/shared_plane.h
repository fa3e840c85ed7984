#ifndef MUSTER_CLIENT_GLOO_SHARED_PLANE_H_
#define MUSTER_CLIENT_GLOO_SHARED_PLANE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/gloo/interruptor.h"
#include "client/gloo/operation.h"
#include "client/gloo/peer_info.h"
#include "client/gloo/shared_collectives.h"
#include "client/gloo/shared_region.h"
#include "muster/group.h"

namespace muster::internal {

// Whether this process's communicators may use shared memory: MUSTER_GLOO_SHARED_MEMORY.
// INVALID_ARGUMENT if that is neither 0 nor 1.
absl::StatusOr<bool> MayShareMemory();

// The name of the segment that the first rank makes for all, or why there is to be none.
absl::StatusOr<std::string> SharedMemoryFor(const Group& group,
                                            const std::vector<GlooPeerInfo>& infos);

// The collectives of a communicator whose ranks all have its segment. They are as those in
// collectives.h: they block, and throw what StepBoard throws. The interruptor ends their waits.
class SharedPlane final : public Interruptible {
 public:
  // `patrol`, called from the waiting thread now and then, may raise the interruptor.
  SharedPlane(std::unique_ptr<SharedRegion> region, int rank, int ranks, Interruptor* interruptor,
              std::function<void()> patrol);
  // Ranks that wait for this one see that it has ended.
  ~SharedPlane();

  void AllReduce(const Operation& operation, const void* in, void* out);
  // `out` is used on the root only.
  void Reduce(const Operation& operation, const void* in, void* out);
  void Broadcast(const Operation& operation, void* data);
  void AllGather(const Operation& operation, const void* in, void* out);
  // `counts` has the elements of each rank.
  void AllGatherUneven(const Operation& operation, const void* in, absl::Span<const size_t> counts,
                       void* out);
  void ReduceScatter(const Operation& operation, const void* in, void* out);
  void Barrier(const Operation& operation);

  void Interrupt() override { collectives_.Wake(); }

 private:
  const std::unique_ptr<SharedRegion> region_;
  Interruptor* const interruptor_;
  const std::function<void()> patrol_;
  const int ranks_;
  SharedCollectives collectives_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_SHARED_PLANE_H_
