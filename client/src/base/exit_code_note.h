#ifndef MUSTER_CLIENT_SRC_BASE_EXIT_CODE_NOTE_H_
#define MUSTER_CLIENT_SRC_BASE_EXIT_CODE_NOTE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "muster/exit_code.h"

namespace muster::internal {

// Notes in an error the exit code that ExitCode() returns for it. Keeps an earlier note. OK stays
// OK.
absl::Status WithExitCode(absl::Status status, int code);

// Returns the error with another text, and with its code and notes.
absl::Status Reworded(const absl::Status& status, absl::string_view text);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_EXIT_CODE_NOTE_H_
