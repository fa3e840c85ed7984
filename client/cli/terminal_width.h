#ifndef MUSTER_CLIENT_CLI_TERMINAL_WIDTH_H_
#define MUSTER_CLIENT_CLI_TERMINAL_WIDTH_H_

namespace muster::cli {

// What a table on standard output may take: COLUMNS, or the terminal's width; TextTable::kUnbounded
// where nobody sees it on a terminal.
int TerminalWidth();

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_TERMINAL_WIDTH_H_
