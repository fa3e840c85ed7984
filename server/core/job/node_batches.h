#ifndef MUSTER_SERVER_CORE_JOB_NODE_BATCHES_H_
#define MUSTER_SERVER_CORE_JOB_NODE_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "server/core/api/effects.h"

namespace muster::core {

// The NodeCollectives that wait for an answer, and the results of their parts. Each part is parked
// as a call of its own, under an id that is made from the NodeCollective's id. A part may outlive
// its NodeCollective; its end is then ignored.
//
// A NodeCollective is answered after the first step in which a part completes or fails with an
// error that concerns all parts. At the latest, it is answered after the step in which its last
// part ends.
class NodeBatches {
 public:
  // Returns whether the id is a part's. Ids of calls never have the highest bit.
  static bool IsPart(WaiterId id) { return id >> 63 != 0; }
  static WaiterId PartId(WaiterId call, size_t part) {
    return WaiterId{1} << 63 | call << kPartBits | part;
  }

  // Adds a NodeCollective with so many parts, none of which has ended.
  void Add(WaiterId call, size_t parts);
  // Forgets the NodeCollective, because its caller is gone. Returns false if `call` is not one.
  bool Forget(WaiterId call) { return batches_.erase(call) > 0; }
  // Notes the end of a part, with its answer if the status is OK.
  void End(WaiterId part, const absl::Status& status, Answer answer);

  struct Done {
    WaiterId call = 0;
    NodeAnswer answer;
  };
  // Returns the NodeCollectives to answer after this step, and forgets them.
  std::vector<Done> TakeDone();

 private:
  static constexpr int kPartBits = 10;

  struct Batch {
    size_t open = 0;  // parts that have not ended
    bool done = false;
    NodeAnswer answer;
  };

  absl::flat_hash_map<WaiterId, Batch> batches_;
  std::vector<WaiterId> done_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_JOB_NODE_BATCHES_H_
