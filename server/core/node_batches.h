#ifndef MUSTER_SERVER_CORE_NODE_BATCHES_H_
#define MUSTER_SERVER_CORE_NODE_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "server/core/effects.h"

namespace muster::core {

// The NodeCollectives that wait for an answer, and what has become of their parts. Each part is
// parked as a call by itself, under an id that is made of the NodeCollective's, and outlives it: a
// part that ends when nobody waits for it any more is of no concern here.
//
// A NodeCollective is answered after the first step in which a part completes or ends with an error
// that all had better hear of, or when the last part has ended without one.
class NodeBatches {
 public:
  // Ids of calls never have the highest bit.
  static bool IsPart(WaiterId id) { return id >> 63 != 0; }
  static WaiterId PartId(WaiterId call, size_t part) {
    return WaiterId{1} << 63 | call << kPartBits | part;
  }

  void Add(WaiterId call, size_t parts);
  // Nobody waits for it any more. Whether it was one.
  bool Forget(WaiterId call) { return batches_.erase(call) > 0; }
  // The part has ended, with that answer where the status is OK.
  void End(WaiterId part, const absl::Status& status, Answer answer);

  struct Done {
    WaiterId call = 0;
    NodeAnswer answer;
  };
  // Those that are to be answered after this step.
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

#endif  // MUSTER_SERVER_CORE_NODE_BATCHES_H_
