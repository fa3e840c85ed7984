#ifndef MUSTER_SERVER_CORE_DIAGNOSIS_WAIT_GRAPH_H_
#define MUSTER_SERVER_CORE_DIAGNOSIS_WAIT_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "server/core/api/job_status.h"

namespace muster::core {

// A wait of some ranks for others in one call of Muster's.
struct Wait {
  std::string what;               // "Barrier('x') op 3 of the world"
  std::string not_done;           // "has not come to Barrier('x') op 3 of the world"
  std::vector<uint32_t> waiting;  // ranks
  std::vector<uint32_t> awaited;  // ranks
  size_t gave_up = 0;
  absl::Duration age;
};

// The waits of a job's members for each other. The constructor takes time proportional to the
// members and waits, because the coordinator serves no call meanwhile.
class WaitGraph {
 public:
  explicit WaitGraph(const JobStatus& job);
  WaitGraph(const WaitGraph&) = delete;
  WaitGraph& operator=(const WaitGraph&) = delete;

  bool empty() const { return waits_.empty(); }
  const Wait& Oldest() const { return waits_.front(); }
  // Returns the oldest wait of that rank, or null if it waits for no other.
  const Wait* OldestOf(uint32_t rank) const;
  // Returns the awaited ranks that do not wait themselves, or all awaited ranks if there are none.
  std::vector<uint32_t> NotWaiting(const Wait& wait) const;
  // Returns how many ranks wait in Rejoin although no other member is awaited.
  size_t rejoined_in_vain() const { return rejoined_in_vain_; }

 private:
  void Add(Wait wait);

  std::vector<Wait> waits_;  // the oldest first
  absl::flat_hash_map<uint32_t, const Wait*> by_rank_;
  size_t rejoined_in_vain_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_DIAGNOSIS_WAIT_GRAPH_H_
