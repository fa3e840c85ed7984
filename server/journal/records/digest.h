#ifndef MUSTER_SERVER_JOURNAL_RECORDS_DIGEST_H_
#define MUSTER_SERVER_JOURNAL_RECORDS_DIGEST_H_

#include <cstdint>

#include "server/core/api/effects.h"

namespace muster::journal {

// A digest of a step's effects, with which a replay checks that it does what the daemon did. It is
// cheap, because it is made while all members wait for the step. 0 if there are no such effects.
struct Digest {
  // The calls and streams that were ended, and their status codes.
  uint32_t answers = 0;
  // The events that were sent, and the texts of errors and of the log.
  uint32_t texts = 0;
};

Digest DigestOf(const core::Effects& effects);

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_RECORDS_DIGEST_H_
