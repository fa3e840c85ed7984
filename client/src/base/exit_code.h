#ifndef MUSTER_CLIENT_SRC_BASE_EXIT_CODE_H_
#define MUSTER_CLIENT_SRC_BASE_EXIT_CODE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "muster/exit_code.h"

namespace muster::internal {

// Notes in an error what ExitCode() is to make of it. An earlier note stays; OK stays OK.
absl::Status WithExitCode(absl::Status status, int code);

// The same error in other words: its code and what is noted in it.
absl::Status Reworded(const absl::Status& status, absl::string_view text);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_EXIT_CODE_H_
