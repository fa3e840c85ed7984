#ifndef MUSTER_CLIENT_LAUNCHER_VERDICT_FILE_H_
#define MUSTER_CLIENT_LAUNCHER_VERDICT_FILE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/observe/bundle.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::launcher {

// When it was, by the clock of the coordinator.
absl::Time BeganAt(const muster::v1::Inquiry& inquiry);

// The first file of a bundle: `text`, which ends a line, and what the inquiry was about.
observe::File VerdictFile(absl::string_view text, const muster::v1::Inquiry& inquiry);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_VERDICT_FILE_H_
