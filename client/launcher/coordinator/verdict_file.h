#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_VERDICT_FILE_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_VERDICT_FILE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/observe/bundle/bundle.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::launcher {

// Returns when the inquiry began, by the coordinator's clock.
absl::Time BeganAt(const muster::v1::Inquiry& inquiry);

// Returns the first file of a bundle: `text`, which must end with a newline, and the facts of the
// inquiry.
observe::File VerdictFile(absl::string_view text, const muster::v1::Inquiry& inquiry);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_VERDICT_FILE_H_
