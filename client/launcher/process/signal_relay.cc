#include "client/launcher/process/signal_relay.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "common/process/steady_now.h"

namespace muster::launcher {
namespace {

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int kForwardedOnly[] = {SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};

// timeout(1) signals its child, and then the process group that both are in. Both signals mean one
// request. On a busy machine, timeout may pause between them.
constexpr absl::Duration kRepeatWindow = absl::Milliseconds(200);

bool IsIgnored(int signal) {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

bool IsEndingSignal(int signal) {
  return std::find(std::begin(kEnding), std::end(kEnding), signal) != std::end(kEnding);
}

sigset_t SignalRelay::Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kEnding) sigaddset(&set, signal);
  for (const int signal : kForwardedOnly) sigaddset(&set, signal);
  for (const int signal : {SIGHUP, SIGTSTP}) {
    if (IsIgnored(signal)) sigdelset(&set, signal);
  }
  return set;
}

void SignalRelay::Forward(int signal, pid_t sender) {
  if (IsEndingSignal(signal)) {
    if (IsRepetition(signal, sender)) return;
    if (!ending_signal_) ending_signal_ = signal;
  }
  const auto byte = static_cast<unsigned char>(signal);
  // This fails only if the supervisor has just ended.
  [[maybe_unused]] const ssize_t written = write(control_fd_, &byte, 1);
  if (signal == SIGTSTP) kill(getpid(), SIGSTOP);  // the shell waits for this
}

bool SignalRelay::IsRepetition(int signal, pid_t sender) {
  const absl::Time now = SteadyNow();
  // Measured from the signal that was forwarded, so that a user who sends many in a row gets
  // through.
  if (signal == last_signal_ && sender == last_sender_ && now - last_time_ < kRepeatWindow)
    return true;
  last_signal_ = signal;
  last_sender_ = sender;
  last_time_ = now;
  return false;
}

}  // namespace muster::launcher
