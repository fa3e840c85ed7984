#ifndef MUSTER_SERVER_JOURNAL_REPLAY_RESTORED_INPUT_H_
#define MUSTER_SERVER_JOURNAL_REPLAY_RESTORED_INPUT_H_

#include "absl/status/statusor.h"
#include "server/core/api/input.h"
#include "server/journal/journal.pb.h"
#include "server/journal/records/synthetic_payloads.h"

namespace muster::journal {

// Returns the input of a step as the core had it, with synthetic payloads. Returns DATA_LOSS if
// it cannot be read.
absl::StatusOr<core::Input> Restore(const Step& step, SyntheticPayloads* synthetic);

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_REPLAY_RESTORED_INPUT_H_
