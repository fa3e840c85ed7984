#ifndef MUSTER_SERVER_CORE_FORMATION_EXPECTED_PROCESSES_H_
#define MUSTER_SERVER_CORE_FORMATION_EXPECTED_PROCESSES_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "server/core/api/basic_types.h"

namespace muster::core {

// The processes that a forming job has heard of: processes that have attached, and processes that a
// launcher has started. They have the places in the order in which they came. If a process ends,
// the next one moves up. So once the launchers have named their processes, no process without a
// place can make the job give up.
class ExpectedProcesses {
 public:
  // Adds the process, unless it is known or `most` are known.
  void Add(const Incarnation& process, size_t most);
  void Remove(const Incarnation& process);
  void Clear();

  // Returns whether the end of this process may leave one of the places empty: either it has one,
  // or fewer processes than places are known.
  bool MayGiveUp(const Incarnation& process, size_t places) const;

 private:
  uint64_t came_ = 0;
  std::map<uint64_t, Incarnation> in_order_;
  absl::flat_hash_map<Incarnation, uint64_t> orders_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_FORMATION_EXPECTED_PROCESSES_H_
