#ifndef MUSTER_CLIENT_LAUNCHER_PMI_NODE_EXCHANGE_H_
#define MUSTER_CLIENT_LAUNCHER_PMI_NODE_EXCHANGE_H_

#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace muster::launcher::pmi {

// Values that ranks have put, by key.
using Values = std::map<std::string, std::string>;

// The exchange between the nodes of an MPI world: the part of a barrier that is not on this node.
// Once all ranks of a node have arrived, each node calls Begin() once, with what its ranks have put
// since the last barrier.
class NodeExchange {
 public:
  // Called with what the ranks of the other nodes have put, or with the reason why the barrier
  // cannot end.
  using Done = std::function<void(absl::StatusOr<Values> others)>;

  virtual ~NodeExchange() = default;

  // Calls `done` once, from this call or later from the event loop, when all nodes have begun.
  virtual void Begin(Values puts, Done done) = 0;
};

// The exchange of a world that has one node: there are no others.
class SingleNodeExchange : public NodeExchange {
 public:
  void Begin(Values /*puts*/, Done done) override { done(Values()); }
};

}  // namespace muster::launcher::pmi

#endif  // MUSTER_CLIENT_LAUNCHER_PMI_NODE_EXCHANGE_H_
