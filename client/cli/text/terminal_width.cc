#include "client/cli/text/terminal_width.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "client/cli/text/text_table.h"

namespace muster::cli {

int TerminalWidth() {
  int columns = TextTable::kUnbounded;
  const char* const wanted = std::getenv("COLUMNS");
  if (wanted != nullptr && absl::SimpleAtoi(wanted, &columns) && columns > 0) return columns;
  winsize size = {};
  const bool terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return terminal ? size.ws_col : TextTable::kUnbounded;
}

}  // namespace muster::cli
