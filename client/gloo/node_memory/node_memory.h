#ifndef MUSTER_CLIENT_GLOO_NODE_MEMORY_NODE_MEMORY_H_
#define MUSTER_CLIENT_GLOO_NODE_MEMORY_NODE_MEMORY_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "client/gloo/connections/interrupter.h"
#include "client/gloo/endings/end_notice_channel.h"
#include "client/gloo/node_memory/shared_collectives.h"
#include "client/src/node/shared_region.h"

namespace muster::internal {

// The memory that the ranks of a node share, and their collectives on it. The interrupter ends
// their waits.
//
// The ranks leave their end notices in this memory too. A notice on a connection may be stuck
// behind half of another message; in memory nothing can be in its way.
class NodeMemory final : public Interruptible, public EndNoticeChannel {
 public:
  // `ranks` lists the ranks of the node by their numbers in the group; `index` is this rank's place
  // in the list. A thread that waits calls `periodic_check` now and then; it may raise the
  // interrupter.
  NodeMemory(std::unique_ptr<SharedRegion> region, const std::vector<int>& ranks, int index,
             Interrupter* interrupter, std::function<void()> periodic_check);
  // Marks this rank as ended, which ranks that wait for it see.
  ~NodeMemory() override;

  // Returns the collectives. Their arguments number ranks as on the node; their exceptions, as in
  // the group.
  SharedCollectives& collectives() { return collectives_; }

  void Interrupt() override { collectives_.sequencer().Wake(); }

  // Returns the peers that have left a notice. The connections show which other peers have ended.
  std::vector<EndedPeer> EndedPeers() override;
  std::vector<int> Notify(const EndNotice& notice, const std::vector<int>& ranks) override;

 private:
  bool Reaches(int rank);

  const std::unique_ptr<SharedRegion> region_;
  Interrupter* const interrupter_;
  const std::function<void()> periodic_check_;
  const std::vector<int> ranks_;  // in the group, by index
  SharedCollectives collectives_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_NODE_MEMORY_NODE_MEMORY_H_
