#ifndef MUSTER_SERVER_CORE_VERDICT_WAITS_H_
#define MUSTER_SERVER_CORE_VERDICT_WAITS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "server/core/job_status.h"

namespace muster::core {

// What some ranks wait for in a call of Muster's, and for whom.
struct Wait {
  std::string what;               // "Barrier('x') op 3 of the world"
  std::string not_done;           // "has not come to Barrier('x') op 3 of the world"
  std::vector<uint32_t> waiting;  // ranks
  std::vector<uint32_t> awaited;  // ranks
  size_t gave_up = 0;
  absl::Duration age;
};

// All waits of a job's members for each other. Found in time proportional to what there is of
// members and waits: the coordinator serves nobody meanwhile.
class Waits {
 public:
  explicit Waits(const JobStatus& job);
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  bool empty() const { return waits_.empty(); }
  const Wait& Oldest() const { return waits_.front(); }
  // The oldest one in which that rank waits; null: it waits for nobody.
  const Wait* Of(uint32_t rank) const;
  // Of those that are awaited, the ones that wait for nobody themselves; all, if there are none.
  std::vector<uint32_t> NotWaiting(const Wait& wait) const;
  // How many wait in Rejoin where nobody else is to come.
  size_t rejoined_in_vain() const { return rejoined_in_vain_; }

 private:
  void Add(Wait wait);

  std::vector<Wait> waits_;  // the oldest first
  absl::flat_hash_map<uint32_t, const Wait*> by_rank_;
  size_t rejoined_in_vain_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_VERDICT_WAITS_H_
