#ifndef MUSTER_SERVER_CORE_EXPECTED_PROCESSES_H_
#define MUSTER_SERVER_CORE_EXPECTED_PROCESSES_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "server/core/vocabulary.h"

namespace muster::core {

// The processes that a job which forms has heard of: those that have attached, and those that a
// launcher has started. The first come of them have the places, as many as there are; where one of
// these ends, the next one moves up. So once the launchers have named their processes, nobody else
// can say that a place stays empty.
class ExpectedProcesses {
 public:
  // Hears of no more than `most`.
  void Add(const Incarnation& process, size_t most);
  void Remove(const Incarnation& process);
  void Clear();

  // Whether one of so many places is empty without the process: it has one, or might have had.
  bool MayGiveUp(const Incarnation& process, size_t places) const;

 private:
  uint64_t came_ = 0;
  std::map<uint64_t, Incarnation> in_order_;
  absl::flat_hash_map<Incarnation, uint64_t> orders_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_EXPECTED_PROCESSES_H_
