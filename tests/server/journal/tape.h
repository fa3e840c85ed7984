#ifndef MUSTER_TESTS_SERVER_JOURNAL_TAPE_H_
#define MUSTER_TESTS_SERVER_JOURNAL_TAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/core/coordinator.h"
#include "server/journal/records/encoder.h"
#include "server/journal/records/kept_request.h"

namespace muster::journal {

// A journal of one core in memory, together with the effects of each step. Tests with random
// schedules use it to check that all that they do to a core replays.
class Tape {
 public:
  // Returns the options to create the core with. They record the random numbers that the core
  // draws. The tape must outlive the core.
  core::Options Options(core::Options options, core::Time now);

  // Returns the part of a request that a journal keeps. Call it before the core gets the request.
  template <typename Wire>
  static KeptRequest KeepCopy(Wire request) {
    return Keep(&request, "", SharedHasher());
  }
  // Records one step of the core, and its effects.
  void Add(const StepInput& step, core::Time now, const core::Effects& effects);
  // Replays the tape in another core. Returns the first difference between the effects, or "" if
  // there is none.
  std::string Replay() const;

  // Returns the records in the encoding of a Block.
  const std::string& records() const { return records_; }
  uint64_t steps() const { return texts_.size(); }

 private:
  // Returns the key for all requests, so that equal payloads have equal fingerprints.
  static const PayloadHasher& SharedHasher();

  Encoder encoder_;
  core::Options options_;
  std::vector<uint64_t> draws_;
  std::string records_;
  std::vector<std::string> texts_;  // by step
};

}  // namespace muster::journal

#endif  // MUSTER_TESTS_SERVER_JOURNAL_TAPE_H_
