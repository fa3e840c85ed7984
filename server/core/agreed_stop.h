#ifndef MUSTER_SERVER_CORE_AGREED_STOP_H_
#define MUSTER_SERVER_CORE_AGREED_STOP_H_

#include <cstdint>
#include <optional>

#include "server/core/finished_call.h"

namespace muster::core {

// A stop that all ranks hear of at the same collective: once one rank has asked for it, the answers
// of every collective say so, from the next one that completes on.
class AgreedStop {
 public:
  void Ask() { asked_ = true; }
  // The answers have said so since this collective.
  void Observe(uint64_t sequence) { first_ = sequence; }

  // This collective completes.
  void NoteCompletion(uint64_t sequence) {
    if (asked_ && !first_) first_ = sequence;
  }
  // Marks answers of this collective, if they have to say so.
  void Mark(uint64_t sequence, FinishedCalls* answers) const {
    if (!first_ || sequence < *first_) return;
    for (FinishedCall& call : *answers) call.answer.stop_requested = true;
  }

 private:
  bool asked_ = false;
  std::optional<uint64_t> first_;  // the first whose answers say so
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_AGREED_STOP_H_
