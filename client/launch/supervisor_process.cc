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
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/process_tree.h"
#include "client/launch/result_codec.h"

namespace muster::internal {
namespace {

constexpr char kSupervisorName[] = "rank-supervisor";  // 15 characters, the kernel's limit
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
  return Pipe{ends[0], ends[1]};
}

bool IsIgnored(int signal) {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Those that the program does not ignore anyway, as under nohup(1).
sigset_t ForwardedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) {
    if (!IsIgnored(signal)) sigaddset(&set, signal);
  }
  return set;
}

// The names that ps(1) and pkill(1) see.
std::string ProcessName() {
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  return name;
}

void WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return;  // the program has gone
    if (written > 0) bytes.remove_prefix(written);
  }
}

// `signals` are those that the program itself has blocked.
[[noreturn]] void Supervise(LaunchPlan plan, const sigset_t& signals, int control_fd,
                            int result_fd) {
  setpgid(0, 0);  // out of the reach of kill -9 -group, and of the terminal's signals
  const auto on_pipe = signal(SIGPIPE, SIG_IGN);
  const auto on_child = signal(SIGCHLD, SIG_DFL);  // ignored, it would take the exit status away
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  cli::BecomeSubreaper();
  prctl(PR_SET_PDEATHSIG, SIGCONT);  // if it was stopped when the program dies, it must still act
  plan.body = [body = plan.body, name = ProcessName(), signals, on_pipe, on_child](int local_rank) {
    signal(SIGPIPE, on_pipe);
    signal(SIGCHLD, on_child);
    prctl(PR_SET_NAME, name.c_str());
    sigprocmask(SIG_SETMASK, &signals, nullptr);
    return body(local_rank);
  };
  prctl(PR_SET_NAME, kSupervisorName);
  Supervisor supervisor(std::move(plan), control_fd, {control_fd, result_fd});
  WriteAll(result_fd, PackResult(supervisor.Run()));
  _exit(0);
}

// Passes signals on until the supervisor has said all it has to say.
class Conversation {
 public:
  Conversation(int signal_fd, int control_fd, int result_fd)
      : signal_fd_(signal_fd), control_fd_(control_fd), result_fd_(result_fd) {}

  // Returns what the supervisor has said.
  std::string Hold() {
    pollfd fds[] = {{signal_fd_, POLLIN, 0}, {result_fd_, POLLIN, 0}};
    while (true) {
      if (poll(fds, 2, -1) < 0) continue;
      if (fds[0].revents != 0) PassOn();
      if (fds[1].revents != 0 && !Read()) return bytes_;
    }
  }

  // The first signal that was passed on; 0: none.
  int signal() const { return signal_; }

 private:
  void PassOn() {
    signalfd_siginfo info;
    if (read(signal_fd_, &info, sizeof(info)) != sizeof(info)) return;
    const auto byte = static_cast<unsigned char>(info.ssi_signo);
    if (signal_ == 0) signal_ = byte;
    // It fails only if the supervisor has just ended.
    [[maybe_unused]] const ssize_t written = write(control_fd_, &byte, 1);
  }

  bool Read() {
    char buffer[4096];
    const ssize_t size = read(result_fd_, buffer, sizeof(buffer));
    if (size > 0) bytes_.append(buffer, size);
    return size > 0 || (size < 0 && errno == EINTR);
  }

  const int signal_fd_;
  const int control_fd_;
  const int result_fd_;
  int signal_ = 0;
  std::string bytes_;
};

// A fork that does not write again what the buffers hold.
pid_t ForkFlushed() {
  std::cout.flush();
  fflush(nullptr);
  return fork();
}

absl::Status SupervisorKilled(pid_t pid) {
  return absl::AbortedError(
      absl::StrCat("the process that watched over the ranks (rank-supervisor, pid ", pid,
                   ") was killed, and the ranks with it"));
}

}  // namespace

absl::StatusOr<LaunchResult> RunSupervised(const LaunchPlan& plan) {
  const absl::StatusOr<Pipe> control = MakePipe();
  const absl::StatusOr<Pipe> result = MakePipe();
  if (!control.ok()) return control.status();
  if (!result.ok()) return result.status();
  const sigset_t forwarded = ForwardedSignals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &forwarded, &before);
  const int signal_fd = signalfd(-1, &forwarded, SFD_CLOEXEC);
  const pid_t supervisor = ForkFlushed();
  const int fork_error = errno;
  if (supervisor == 0) {
    for (const int fd : {control->write_end, result->read_end, signal_fd}) close(fd);
    Supervise(plan, before, control->read_end, result->write_end);
  }
  close(control->read_end);
  close(result->write_end);
  Conversation conversation(signal_fd, control->write_end, result->read_end);
  const std::string said = supervisor > 0 ? conversation.Hold() : "";
  if (supervisor > 0) waitpid(supervisor, nullptr, 0);
  for (const int fd : {control->write_end, result->read_end, signal_fd}) close(fd);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (supervisor < 0) return absl::ErrnoToStatus(fork_error, "cannot fork");
  if (conversation.signal() != 0) raise(conversation.signal());
  if (said.empty()) return SupervisorKilled(supervisor);
  return UnpackResult(said);
}

}  // namespace muster::internal
