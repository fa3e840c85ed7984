#include "client/launch/supervisor_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/launch/forked_ranks.h"
#include "client/launch/result_codec.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/process/event_loop.h"
#include "client/launcher/process/process_tree.h"
#include "client/launcher/process/signal_relay.h"
#include "client/launcher/supervisor.h"

namespace muster::internal {
namespace {

using launcher::JobPlan;

constexpr char kSupervisorName[] = "rank-supervisor";  // 15 characters, the kernel's limit

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return launcher::StartError(errno, "cannot create a pipe");
  return Pipe{ends[0], ends[1]};
}

// Returns the name that ps(1) and pkill(1) use.
std::string ProcessName() {
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  return name;
}

void WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return;  // the program is gone
    if (written > 0) bytes.remove_prefix(written);
  }
}

absl::StatusOr<LaunchResult> RunRanks(const JobPlan& plan, const ForkedRanks::Body& body,
                                      int control_fd, int result_fd) {
  ForkedRanks ranks(body, {control_fd, result_fd});
  launcher::EventLoop loop;
  launcher::Supervisor supervisor(plan, &ranks, &loop, control_fd);
  if (absl::Status started = supervisor.Run(); !started.ok()) return started;
  LaunchResult result = ranks.result();
  result.coordinator = supervisor.coordinator_status();
  return result;
}

// Runs the supervisor process. `signals` is the program's own signal mask, which the ranks get
// back.
[[noreturn]] void Supervise(const JobPlan& plan, const ForkedRanks::Body& body,
                            const sigset_t& signals, int control_fd, int result_fd) {
  setpgid(0, 0);  // out of reach of kill -9 -GROUP and of the terminal's signals
  const auto on_pipe = signal(SIGPIPE, SIG_IGN);
  // If SIGCHLD were ignored, exit statuses would be lost.
  const auto on_child = signal(SIGCHLD, SIG_DFL);
  struct sigaction on_interrupt;
  const bool ignores_interrupts =
      sigaction(SIGINT, nullptr, &on_interrupt) == 0 && on_interrupt.sa_handler == SIG_IGN;
  launcher::BecomeSubreaper();
  prctl(PR_SET_PDEATHSIG, SIGCONT);  // wakes a stopped supervisor when the program dies
  const std::string name = ProcessName();
  const ForkedRanks::Body as_the_program = [&](int local_rank) {
    signal(SIGPIPE, on_pipe);
    signal(SIGCHLD, on_child);
    if (ignores_interrupts) signal(SIGINT, SIG_DFL);  // set by a shell: see SignalRelay::Signals()
    prctl(PR_SET_NAME, name.c_str());
    sigprocmask(SIG_SETMASK, &signals, nullptr);
    return body(local_rank);
  };
  prctl(PR_SET_NAME, kSupervisorName);
  WriteAll(result_fd, PackResult(RunRanks(plan, as_the_program, control_fd, result_fd)));
  _exit(0);
}

// The program's side while the supervisor runs: forwards signals to it and reads its result.
class SupervisorConnection {
 public:
  SupervisorConnection(int signal_fd, int control_fd, int result_fd)
      : signal_fd_(signal_fd), result_fd_(result_fd), relay_(control_fd) {}

  // Blocks until the supervisor has closed the pipe. Returns the bytes that it sent.
  std::string ReadResult() {
    pollfd fds[] = {{signal_fd_, POLLIN, 0}, {result_fd_, POLLIN, 0}};
    while (true) {
      if (poll(fds, 2, -1) < 0) continue;
      if (fds[0].revents != 0) ForwardSignal();
      if (fds[1].revents != 0 && !Read()) return bytes_;
    }
  }

  // Returns the first signal that asked the program to end.
  std::optional<int> signal() const { return relay_.ending_signal(); }

 private:
  void ForwardSignal() {
    signalfd_siginfo info;
    if (read(signal_fd_, &info, sizeof(info)) != sizeof(info)) return;
    relay_.Forward(static_cast<int>(info.ssi_signo), static_cast<pid_t>(info.ssi_pid));
  }

  bool Read() {
    char buffer[4096];
    const ssize_t size = read(result_fd_, buffer, sizeof(buffer));
    if (size > 0) bytes_.append(buffer, size);
    return size > 0 || (size < 0 && errno == EINTR);
  }

  const int signal_fd_;
  const int result_fd_;
  launcher::SignalRelay relay_;
  std::string bytes_;
};

// Flushes the output buffers, so that the fork does not write their contents again, and forks.
pid_t ForkFlushed() {
  std::cout.flush();
  fflush(nullptr);
  return fork();
}

absl::Status SupervisorKilled(pid_t pid) {
  return absl::AbortedError(
      absl::StrCat("the process that supervised the ranks (rank-supervisor, pid ", pid,
                   ") was killed, and the ranks with it"));
}

}  // namespace

absl::StatusOr<LaunchResult> RunSupervised(const JobPlan& plan, const ForkedRanks::Body& body) {
  const absl::StatusOr<Pipe> control = MakePipe();
  const absl::StatusOr<Pipe> result = MakePipe();
  if (!control.ok()) return control.status();
  if (!result.ok()) return result.status();
  const sigset_t forwarded = launcher::SignalRelay::Signals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &forwarded, &before);
  const int signal_fd = signalfd(-1, &forwarded, SFD_CLOEXEC);
  const pid_t supervisor = ForkFlushed();
  const int fork_error = errno;
  if (supervisor == 0) {
    for (const int fd : {control->write_end, result->read_end, signal_fd}) close(fd);
    Supervise(plan, body, before, control->read_end, result->write_end);
  }
  close(control->read_end);
  close(result->write_end);
  SupervisorConnection connection(signal_fd, control->write_end, result->read_end);
  const std::string result_bytes = supervisor > 0 ? connection.ReadResult() : "";
  if (supervisor > 0) waitpid(supervisor, nullptr, 0);
  for (const int fd : {control->write_end, result->read_end, signal_fd}) close(fd);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (supervisor < 0) return launcher::StartError(fork_error, "cannot fork");
  if (connection.signal()) raise(*connection.signal());
  if (result_bytes.empty()) return SupervisorKilled(supervisor);
  return UnpackResult(result_bytes);
}

}  // namespace muster::internal
