#ifndef MUSTER_SERVER_JOURNAL_DIGEST_H_
#define MUSTER_SERVER_JOURNAL_DIGEST_H_

#include <cstdint>

#include "server/core/effects.h"

namespace muster::journal {

// What a journal keeps of a step's effects, so that a replay can tell whether it does what the
// daemon did. Cheap, since it is made where all members wait for it; 0 where there is nothing.
struct Digest {
  // Which calls and streams were ended, and with which status code.
  uint32_t answers = 0;
  // Which events were sent, and what errors and the log said.
  uint32_t words = 0;
};

Digest DigestOf(const core::Effects& effects);

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_DIGEST_H_
