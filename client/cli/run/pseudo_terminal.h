#ifndef MUSTER_CLIENT_CLI_RUN_PSEUDO_TERMINAL_H_
#define MUSTER_CLIENT_CLI_RUN_PSEUDO_TERMINAL_H_

#include "absl/status/statusor.h"

namespace muster::cli {

// Both ends of a pseudo-terminal that controls no process. Programs write each line at once to a
// terminal, but write blocks of some KiB to a pipe.
struct PseudoTerminal {
  int reader = -1;  // non-blocking; read() fails with EIO when there is no writer left
  int writer = -1;  // for the child; not readable
};

// Opens one that passes bytes unchanged. Both ends are closed on exec. Errors have the system's
// text, for example if there are no more pseudo-terminals or /dev/pts is not mounted.
absl::StatusOr<PseudoTerminal> OpenPseudoTerminal();

// Copies the window size of the terminal at `terminal_fd`, minus `margin` columns, to the terminal
// of `reader`. Does nothing if `terminal_fd` is not a terminal, or has no size.
void CopyWindowSize(int terminal_fd, int margin, int reader);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_RUN_PSEUDO_TERMINAL_H_
