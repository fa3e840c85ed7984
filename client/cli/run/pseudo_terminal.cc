#include "client/cli/run/pseudo_terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "client/launcher/outcome/process_end.h"

namespace muster::cli {
namespace {

// Turns off the '\r' that a terminal puts before each '\n'.
bool MakeRaw(int fd) {
  termios settings;
  if (tcgetattr(fd, &settings) != 0) return false;
  cfmakeraw(&settings);
  return tcsetattr(fd, TCSANOW, &settings) == 0;
}

// Opens the writer's end through `reader`. In a container with another /dev/pts, its path may name
// another terminal.
int OpenWriter(int reader) {
  if (unlockpt(reader) != 0) return -1;
  return ioctl(reader, TIOCGPTPEER, O_WRONLY | O_NOCTTY | O_CLOEXEC);
}

}  // namespace

absl::StatusOr<PseudoTerminal> OpenPseudoTerminal() {
  PseudoTerminal terminal;
  terminal.reader = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (terminal.reader >= 0) terminal.writer = OpenWriter(terminal.reader);
  if (terminal.writer >= 0 && MakeRaw(terminal.writer)) return terminal;
  const int error = errno;
  if (terminal.writer >= 0) close(terminal.writer);
  if (terminal.reader >= 0) close(terminal.reader);
  return launcher::StartError(error, "cannot open a pseudo-terminal");
}

void CopyWindowSize(int terminal_fd, int margin, int reader) {
  winsize size = {};
  if (ioctl(terminal_fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return;
  size.ws_col = static_cast<unsigned short>(std::max(size.ws_col - margin, 1));
  ioctl(reader, TIOCSWINSZ, &size);
}

}  // namespace muster::cli
