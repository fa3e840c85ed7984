#ifndef MUSTER_CLIENT_CLI_TEXT_TERMINAL_WIDTH_H_
#define MUSTER_CLIENT_CLI_TEXT_TERMINAL_WIDTH_H_

namespace muster::cli {

// Returns the width for tables on standard output: COLUMNS, or the terminal's width. Returns
// TextTable::kUnbounded if standard output is not a terminal.
int TerminalWidth();

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_TEXT_TERMINAL_WIDTH_H_
