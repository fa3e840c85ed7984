#ifndef MUSTER_SERVER_CORE_GROUP_AGREED_STOP_H_
#define MUSTER_SERVER_CORE_GROUP_AGREED_STOP_H_

#include <cstdint>
#include <optional>

#include "server/core/group/finished_call.h"

namespace muster::core {

// A stop that all ranks learn of at the same collective. Once a rank has asked for it, the answers
// of every collective say so, beginning with the next one that completes.
class AgreedStop {
 public:
  void Ask() { asked_ = true; }
  // Notes that answers have said so since this collective. A member's claim tells it after a
  // restart.
  void Observe(uint64_t sequence) { first_ = sequence; }

  // Notes that this collective completes.
  void NoteCompletion(uint64_t sequence) {
    if (asked_ && !first_) first_ = sequence;
  }
  // Sets stop_requested in the answers of this collective, if it is the first one that says so or a
  // later one.
  void Mark(uint64_t sequence, FinishedCalls* answers) const {
    if (!first_ || sequence < *first_) return;
    for (FinishedCall& call : *answers) call.answer.stop_requested = true;
  }

 private:
  bool asked_ = false;
  std::optional<uint64_t> first_;  // the first collective whose answers say so
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GROUP_AGREED_STOP_H_
