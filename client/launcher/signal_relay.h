#ifndef MUSTER_CLIENT_LAUNCHER_SIGNAL_RELAY_H_
#define MUSTER_CLIENT_LAUNCHER_SIGNAL_RELAY_H_

#include <signal.h>
#include <sys/types.h>

#include <optional>

#include "absl/time/time.h"

namespace muster::launcher {

// SIGINT, SIGTERM, SIGHUP, SIGQUIT: the run should end.
bool IsEndingSignal(int signal);

// Passes a launcher's signals on to its supervisor, each as a byte: those that end the run,
// SIGUSR1, SIGUSR2 and SIGWINCH, which are the ranks' own business, and SIGTSTP and SIGCONT, which
// stop and continue the ranks.
class SignalRelay {
 public:
  // The signals to block and to wait for. SIGHUP and SIGTSTP are not among them where they are
  // ignored, as by nohup(1). SIGINT is, even so: a shell without job control ignores it for what it
  // starts in the background.
  static sigset_t Signals();

  explicit SignalRelay(int control_fd) : control_fd_(control_fd) {}

  // A signal that was taken; `sender` is a pid, or 0. At SIGTSTP stops this process, and returns
  // when it goes on.
  void Pass(int signal, pid_t sender);

  // The first that ends the run.
  std::optional<int> ending_signal() const { return ending_signal_; }

 private:
  bool IsRepetition(int signal, pid_t sender);

  const int control_fd_;
  // Of the ending signal that was passed on last.
  int last_signal_ = 0;
  pid_t last_sender_ = 0;
  absl::Time last_time_ = absl::InfinitePast();
  std::optional<int> ending_signal_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_SIGNAL_RELAY_H_
