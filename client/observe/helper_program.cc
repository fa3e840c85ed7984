#include "client/observe/helper_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/process/steady_now.h"

extern char** environ;

namespace muster::observe {
namespace {

// The process groups of the running helpers.
struct Running {
  std::mutex mutex;
  std::set<pid_t> groups;
};
Running& AllRunning() {
  static auto* const all = new Running;
  return *all;
}

// Gives the program default signal handling, whatever this thread has blocked.
void SetAttributes(posix_spawnattr_t* attributes) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setpgroup(attributes, 0);
  posix_spawnattr_setflags(attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

// Returns 0 or an errno.
int Spawn(const std::string& path, const std::vector<std::string>& command, int out, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
  SetAttributes(&attributes);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const int error = posix_spawn(pid, path.c_str(), &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Starts the program under the lock, so that IsHelper() knows it before it can do anything.
int SpawnKnown(const std::string& path, const std::vector<std::string>& command, int out,
               pid_t* pid) {
  const std::lock_guard<std::mutex> lock(AllRunning().mutex);
  const int error = Spawn(path, command, out, pid);
  if (error == 0) AllRunning().groups.insert(*pid);
  return error;
}

void Reap(pid_t pid) {
  waitpid(pid, nullptr, 0);  // other code may have reaped it already
  const std::lock_guard<std::mutex> lock(AllRunning().mutex);
  AllRunning().groups.erase(pid);
}

// Reads until the whole process group has closed the pipe. Returns false if `deadline` came before.
bool ReadAll(int fd, absl::Time deadline, size_t max_bytes, std::string* text) {
  char piece[4096];
  while (true) {
    pollfd poller = {fd, POLLIN, 0};
    const int64_t left = absl::ToInt64Milliseconds(deadline - SteadyNow());
    if (left <= 0) return false;
    if (poll(&poller, 1, static_cast<int>(std::min<int64_t>(left, 1000))) <= 0) continue;
    const ssize_t size = read(fd, piece, sizeof(piece));
    if (size <= 0) return true;
    text->append(piece, std::min<size_t>(size, max_bytes - text->size()));
  }
}

}  // namespace

std::string FindInPath(const std::string& program) {
  const char* const path = std::getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    const std::string file = absl::StrCat(folder, "/", program);
    if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

absl::StatusOr<HelperOutput> RunHelper(const std::vector<std::string>& command,
                                       absl::Duration timeout, size_t max_bytes) {
  const std::string path = FindInPath(command[0]);
  if (path.empty()) return absl::NotFoundError(absl::StrCat(command[0], " is not in PATH"));
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return absl::UnavailableError(strerror(errno));
  pid_t pid = 0;
  const int error = SpawnKnown(path, command, fds[1], &pid);
  close(fds[1]);
  HelperOutput output;
  output.killed = error == 0 && !ReadAll(fds[0], SteadyNow() + timeout, max_bytes, &output.text);
  close(fds[0]);
  if (error != 0) return absl::UnavailableError(absl::StrCat(path, ": ", strerror(error)));
  if (output.killed) {
    kill(-pid, SIGKILL);
    absl::StrAppend(&output.text, "\n(", command[0], " had not ended after ",
                    absl::FormatDuration(timeout), " and was killed)\n");
  }
  Reap(pid);
  return output;
}

bool IsHelper(pid_t pid) {
  const pid_t group = pid > 0 ? getpgid(pid) : -1;
  const std::lock_guard<std::mutex> lock(AllRunning().mutex);
  return AllRunning().groups.count(group) > 0;
}

}  // namespace muster::observe
