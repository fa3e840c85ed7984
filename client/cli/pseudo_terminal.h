#ifndef MUSTER_CLIENT_CLI_PSEUDO_TERMINAL_H_
#define MUSTER_CLIENT_CLI_PSEUDO_TERMINAL_H_

#include "absl/status/statusor.h"

namespace muster::cli {

// Both ends of a pseudo-terminal, which is nobody's controlling terminal. Programs that write to a
// terminal show each line at once; into a pipe they write in blocks of some KiB.
struct PseudoTerminal {
  int reader = -1;  // non-blocking; read() fails with EIO when no writer is left
  int writer = -1;  // the child's; cannot be read
};

// Bytes pass unchanged. Closed in programs that are executed. An error is the system's: there are
// no more pseudo-terminals, or /dev/pts is not mounted.
absl::StatusOr<PseudoTerminal> OpenPseudoTerminal();

// Gives the terminal of `reader` the size of the one at `terminal_fd`, less `margin` columns.
// Nothing happens where that is no terminal, or has no size.
void CopyWindowSize(int terminal_fd, int margin, int reader);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_PSEUDO_TERMINAL_H_
