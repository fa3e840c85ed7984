#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_SIGNAL_RELAY_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_SIGNAL_RELAY_H_

#include <signal.h>
#include <sys/types.h>

#include <optional>

#include "absl/time/time.h"

namespace muster::launcher {

// Returns whether this signal asks the run to end: SIGINT, SIGTERM, SIGHUP or SIGQUIT.
bool IsEndingSignal(int signal);

// Forwards a launcher's signals to its supervisor, one byte each. Ending signals end the run.
// SIGUSR1, SIGUSR2 and SIGWINCH go to the ranks. SIGTSTP and SIGCONT stop and continue the ranks.
class SignalRelay {
 public:
  // Returns the signals to block and wait for. Leaves out SIGHUP and SIGTSTP if they are ignored,
  // as nohup(1) does. Includes SIGINT even then, because a shell without job control ignores it for
  // background processes.
  static sigset_t Signals();

  explicit SignalRelay(int control_fd) : control_fd_(control_fd) {}

  // Forwards a signal that was received from `sender`, a pid or 0. On SIGTSTP, stops this process,
  // and returns when it continues.
  void Forward(int signal, pid_t sender);

  // Returns the first signal that ends the run.
  std::optional<int> ending_signal() const { return ending_signal_; }

 private:
  bool IsRepetition(int signal, pid_t sender);

  const int control_fd_;
  // The latest ending signal that was forwarded.
  int last_signal_ = 0;
  pid_t last_sender_ = 0;
  absl::Time last_time_ = absl::InfinitePast();
  std::optional<int> ending_signal_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_SIGNAL_RELAY_H_
