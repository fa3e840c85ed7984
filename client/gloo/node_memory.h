#ifndef MUSTER_CLIENT_GLOO_NODE_MEMORY_H_
#define MUSTER_CLIENT_GLOO_NODE_MEMORY_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "client/gloo/end_channel.h"
#include "client/gloo/interruptor.h"
#include "client/gloo/shared_collectives.h"
#include "client/src/node/shared_region.h"

namespace muster::internal {

// The memory that the ranks of a node share, and their collectives on it. The interruptor ends
// their waits.
//
// What the ranks say at their end goes through the memory too: nothing can be in its way there, as
// half of a message can on a connection.
class NodeMemory final : public Interruptible, public EndChannel {
 public:
  // `ranks` has what those of the node are in the group; `index` is this one's among them.
  // `patrol`, called from the waiting thread now and then, may raise the interruptor.
  NodeMemory(std::unique_ptr<SharedRegion> region, const std::vector<int>& ranks, int index,
             Interruptor* interruptor, std::function<void()> patrol);
  // Ranks that wait for this one see that it has ended.
  ~NodeMemory() override;

  // In whose calls ranks are numbered as on the node; in what they throw, as in the group.
  SharedCollectives& collectives() { return collectives_; }

  void Interrupt() override { collectives_.board().Wake(); }

  // Returns those that have spoken. The others' connections show that they have ended.
  std::vector<EndedPeer> EndedPeers() override;
  std::vector<int> Tell(const PeerEnd& words, const std::vector<int>& ranks) override;

 private:
  bool Reaches(int rank);

  const std::unique_ptr<SharedRegion> region_;
  Interruptor* const interruptor_;
  const std::function<void()> patrol_;
  const std::vector<int> ranks_;  // in the group, by index
  SharedCollectives collectives_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_NODE_MEMORY_H_
