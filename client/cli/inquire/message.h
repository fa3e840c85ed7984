#ifndef MUSTER_CLIENT_CLI_INQUIRE_MESSAGE_H_
#define MUSTER_CLIENT_CLI_INQUIRE_MESSAGE_H_

#include "absl/strings/string_view.h"

namespace muster::cli {

// Prints a line for the user to standard error: "muster: " and the text.
void Say(absl::string_view text);

// Prints the text in the same way, and returns `exit_status`.
int Fail(int exit_status, absl::string_view text);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_INQUIRE_MESSAGE_H_
