#ifndef MUSTER_TESTS_SERVER_JOURNAL_TAPE_H_
#define MUSTER_TESTS_SERVER_JOURNAL_TAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/core/coordinator.h"
#include "server/journal/encoder.h"
#include "server/journal/kept_request.h"

namespace muster::journal {

// Records one core as musterd's journal does, in memory, and all that came of it. For tests whose
// schedules are random: whatever they do to a core must replay.
class Tape {
 public:
  // What the core is to be made with: notes what it draws. The object must outlive the core.
  core::Options Options(core::Options options, core::Time now);

  // Keeps what a journal would of a request, before it goes into the core.
  template <typename Wire>
  static KeptRequest KeepCopy(Wire request) {
    return Keep(&request, "", OneKey());
  }
  void Add(const StepInput& step, core::Time now, const core::Effects& effects);
  // Feeds it all to a core of its own. Empty if all came to the same, byte for byte; else the first
  // difference.
  std::string Replay() const;

  // As they stand in a Block.
  const std::string& records() const { return records_; }
  uint64_t steps() const { return texts_.size(); }

 private:
  // For requests of all kinds: one repeats what another has brought.
  static const Fingerprints& OneKey();

  Encoder encoder_;
  core::Options options_;
  std::vector<uint64_t> draws_;
  std::string records_;
  std::vector<std::string> texts_;  // by step
};

}  // namespace muster::journal

#endif  // MUSTER_TESTS_SERVER_JOURNAL_TAPE_H_
