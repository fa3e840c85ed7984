#include "client/launcher/process/spawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/outcome/process_end.h"
#include "common/process/cpu_affinity.h"
#include "common/text/number_ranges.h"

namespace muster::launcher {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Resets what the launcher changed for itself. SIGHUP stays as inherited, because nohup(1) ignores
// it.
void ResetSignals(const std::vector<int>& ignored) {
  for (int signal : {SIGINT, SIGTERM, SIGQUIT, SIGPIPE, SIGTTOU, SIGCHLD}) {
    ::signal(signal, SIG_DFL);
  }
  for (int signal : ignored) ::signal(signal, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The descriptors to pass on, or nullopt: all that are not close-on-exec.
std::optional<std::vector<int>>& PassedOn() {
  static auto& descriptors = *new std::optional<std::vector<int>>();
  return descriptors;
}

// Runs in the child, which has no other threads. An older kernel passes on more.
void DropOtherDescriptors(const std::vector<int>& passed_on) {
  syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  for (int fd : passed_on) fcntl(fd, F_SETFD, 0);
}

// Why the child could not execute the program.
struct ChildError {
  int error = 0;         // an errno; 0: none
  bool binding = false;  // of sched_setaffinity(), else of execve()
};

[[noreturn]] void EndChild(int error_fd, const ChildError& error) {
  [[maybe_unused]] ssize_t written = write(error_fd, &error, sizeof(error));
  _exit(127);
}

// Memory for Execute(), allocated before the fork.
struct Prepared {
  const std::vector<int>* passed_on;
  std::vector<char*> argv;
  std::vector<char*> env;
  CpuMask cpus;
};

// Runs in the child, where only async-signal-safe calls are allowed.
[[noreturn]] void Execute(const SpawnRequest& request, const Prepared& prepared, pid_t parent,
                          int error_fd) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before prctl()
  ResetSignals(request.ignored_signals);
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  dup2(request.stdout_fd, STDOUT_FILENO);
  dup2(request.stderr_fd, STDERR_FILENO);
  if (prepared.passed_on != nullptr) DropOtherDescriptors(*prepared.passed_on);
  if (request.kept_fd >= 0) fcntl(request.kept_fd, F_SETFD, 0);
  if (!request.cpus.empty() &&
      sched_setaffinity(0, prepared.cpus.bytes(), prepared.cpus.set()) != 0) {
    EndChild(error_fd, {errno, /*binding=*/true});
  }
  execvpe(request.path.c_str(), prepared.argv.data(), prepared.env.data());
  EndChild(error_fd, {errno, /*binding=*/false});
}

// Returns the error that the child reports, or none once it has executed the program.
ChildError AwaitExec(int error_fd) {
  ChildError error;
  ssize_t size;
  do {
    size = read(error_fd, &error, sizeof(error));
  } while (size < 0 && errno == EINTR);
  return size == sizeof(error) ? error : ChildError();
}

absl::Status StatusOf(const ChildError& error, const SpawnRequest& request) {
  if (!error.binding) return StartError(error.error, request.path);
  return StartError(error.error, absl::StrCat("binding to CPUs ", NumberRanges(request.cpus)));
}

}  // namespace

void PassOnNoOtherDescriptors() {
  std::vector<int> descriptors;
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    const int fd = atoi(entry->d_name);  // 0 for "." and ".."
    if (fd > STDERR_FILENO && fcntl(fd, F_GETFD) == 0) descriptors.push_back(fd);
  }
  closedir(folder);
  PassedOn() = std::move(descriptors);
}

absl::StatusOr<pid_t> Spawn(const SpawnRequest& request) {
  const Prepared prepared = {PassedOn() ? &*PassedOn() : nullptr, Pointers(request.argv),
                             Pointers(request.env), CpuMask(request.cpus)};
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) return StartError(errno, "pipe");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Execute(request, prepared, parent, pipe_fds[1]);
  const int fork_error = errno;
  close(pipe_fds[1]);
  const ChildError child_error = pid < 0 ? ChildError() : AwaitExec(pipe_fds[0]);
  close(pipe_fds[0]);
  if (pid < 0) return StartError(fork_error, "fork");
  if (child_error.error == 0) return pid;
  waitpid(pid, nullptr, 0);
  return StatusOf(child_error, request);
}

}  // namespace muster::launcher
