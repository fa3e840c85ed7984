#include "client/launcher/process/spawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
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

// Runs in the child, where only async-signal-safe calls are allowed.
[[noreturn]] void Execute(const SpawnRequest& request, const std::vector<int>* passed_on,
                          pid_t parent, int error_fd, char* const* argv, char* const* env) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before prctl()
  ResetSignals(request.ignored_signals);
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  dup2(request.stdout_fd, STDOUT_FILENO);
  dup2(request.stderr_fd, STDERR_FILENO);
  if (passed_on != nullptr) DropOtherDescriptors(*passed_on);
  if (request.kept_fd >= 0) fcntl(request.kept_fd, F_SETFD, 0);
  execvpe(request.path.c_str(), argv, env);
  const int error = errno;
  [[maybe_unused]] ssize_t written = write(error_fd, &error, sizeof(error));
  _exit(127);
}

// Returns the errno that the child reports, or 0 once it has executed the program.
int AwaitExec(int error_fd) {
  int error = 0;
  ssize_t size;
  do {
    size = read(error_fd, &error, sizeof(error));
  } while (size < 0 && errno == EINTR);
  return size == sizeof(error) ? error : 0;
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
  const std::vector<int>* const passed_on = PassedOn() ? &*PassedOn() : nullptr;
  const std::vector<char*> argv = Pointers(request.argv);
  const std::vector<char*> env = Pointers(request.env);
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) return StartError(errno, "pipe");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Execute(request, passed_on, parent, pipe_fds[1], argv.data(), env.data());
  const int fork_error = errno;
  close(pipe_fds[1]);
  const int exec_error = pid < 0 ? 0 : AwaitExec(pipe_fds[0]);
  close(pipe_fds[0]);
  if (pid < 0) return StartError(fork_error, "fork");
  if (exec_error == 0) return pid;
  waitpid(pid, nullptr, 0);
  return StartError(exec_error, request.path);
}

}  // namespace muster::launcher
