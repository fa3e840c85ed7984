#include "client/observe/proc/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/observe/proc/sockets.h"

namespace muster::observe {
namespace {

constexpr size_t kMaxStatBytes = 4 << 10;
constexpr int kSystemCallTries = 5;
constexpr absl::Duration kSystemCallRetryPause = absl::Milliseconds(2);

std::string TaskPath(pid_t pid, pid_t tid, absl::string_view file) {
  return absl::StrCat("/proc/", pid, "/task/", tid, "/", file);
}

// Parses the file `stat` of a process or a thread.
std::optional<ProcessStat> ReadStat(const std::string& path) {
  // The format is "pid (name) state ...". The name may contain anything, including parentheses.
  const std::string text = ReadFile(path, kMaxStatBytes);
  const size_t begin = text.find('(');
  const size_t end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
  ProcessStat stat;
  stat.name = text.substr(begin + 1, end - begin - 1);
  uint64_t user = 0;
  uint64_t system = 0;
  const int found = std::sscanf(text.c_str() + end,
                                ") %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
                                " %*d %*d %*d %*d %*d %*d %" SCNu64,
                                &stat.state, &stat.parent, &stat.group, &stat.session, &user,
                                &system, &stat.start_ticks);
  if (found != 7) return std::nullopt;
  stat.cpu_ticks = user + system;
  return stat;
}

// Returns the entries of a folder that are numbers: processes or threads.
std::vector<pid_t> NumbersIn(const std::string& path) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (folder == nullptr) return numbers;
  while (const dirent* entry = readdir(folder.get())) {
    pid_t number = 0;
    if (absl::SimpleAtoi(entry->d_name, &number)) numbers.push_back(number);
  }
  return numbers;
}

std::string StandardName(int fd) {
  constexpr const char* kNames[] = {"input", "output", "error"};
  return fd >= 0 && fd <= 2 ? absl::StrCat("its standard ", kNames[fd]) : "";
}

// Uses cached attributes only. The process may wait for this very file system, whose server does
// not answer.
bool IsNamedPipe(const std::string& path) {
  struct statx info;
  return statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &info) == 0 &&
         S_ISFIFO(info.stx_mode);
}

}  // namespace

std::string ReadFile(const std::string& path, size_t max_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return "";
  std::string text(max_bytes, 0);
  size_t size = 0;
  while (size < max_bytes) {
    const ssize_t got = read(fd, &text[size], max_bytes - size);
    if (got <= 0) break;
    size += got;
  }
  close(fd);
  text.resize(size);
  return text;
}

std::string ReadLink(const std::string& path) {
  char target[4096];
  const ssize_t size = readlink(path.c_str(), target, sizeof(target));
  return size < 0 ? "" : std::string(target, size);
}

std::optional<ProcessStat> ProcessStatOf(pid_t pid) {
  return ReadStat(absl::StrCat("/proc/", pid, "/stat"));
}

std::vector<pid_t> AllProcesses() { return NumbersIn("/proc"); }

std::string VariableIn(absl::string_view environment, absl::string_view name) {
  const std::string begin = absl::StrCat(name, "=");
  for (absl::string_view variable : absl::StrSplit(environment, '\0')) {
    if (absl::ConsumePrefix(&variable, begin)) return std::string(variable);
  }
  return "";
}

std::optional<ThreadStat> ThreadStatOf(pid_t pid, pid_t tid) {
  std::optional<ProcessStat> stat = ReadStat(TaskPath(pid, tid, "stat"));
  if (!stat) return std::nullopt;
  return ThreadStat{tid, std::move(stat->name), stat->state, stat->cpu_ticks,
                    stat->state == 'D' ? RunCountOf(pid, tid) : ""};
}

std::vector<ThreadStat> Threads(pid_t pid, size_t max_threads) {
  std::vector<ThreadStat> threads;
  if (const auto first = ThreadStatOf(pid, pid)) threads.push_back(*first);
  for (pid_t tid : NumbersIn(absl::StrCat("/proc/", pid, "/task"))) {
    if (tid == pid) continue;
    if (threads.size() >= max_threads) break;
    if (const auto stat = ThreadStatOf(pid, tid)) threads.push_back(*stat);
  }
  return threads;
}

std::optional<SystemCall> SystemCallOf(pid_t pid, pid_t tid) {
  const std::string text = ReadFile(TaskPath(pid, tid, "syscall"));
  if (text.empty() || absl::StartsWith(text, "running")) return std::nullopt;
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  SystemCall call;
  if (!absl::SimpleAtoi(words[0], &call.number)) return std::nullopt;
  if (call.number < 0) return call;
  for (size_t i = 0; i < 6 && i + 1 < words.size(); ++i) {
    (void)absl::SimpleHexAtoi(words[i + 1], &call.arguments[i]);
  }
  return call;
}

// A thread that only polls is sometimes between two calls, more often on a busy machine. So is
// every sleeping thread at the moment a debugger attaches.
std::optional<SystemCall> AwaitSystemCall(pid_t pid, pid_t tid) {
  for (int attempt = 1;; ++attempt) {
    std::optional<SystemCall> call = SystemCallOf(pid, tid);
    if (call || attempt == kSystemCallTries) return call;
    absl::SleepFor(kSystemCallRetryPause);
  }
}

std::string KernelFunctionOf(pid_t pid, pid_t tid) {
  const std::string name = ReadFile(TaskPath(pid, tid, "wchan"));
  return name == "0" ? "" : name;
}

std::string DescribeDescriptor(pid_t tid, int fd) {
  const std::string path = absl::StrCat("/proc/", tid, "/fd/", fd);
  const std::string target = ReadLink(path);
  const std::string standard = StandardName(fd);
  const std::string prefix = standard.empty() ? "" : absl::StrCat(standard, ", ");
  if (absl::StartsWith(target, "pipe:")) return absl::StrCat(prefix, "a pipe");
  if (absl::StartsWith(target, "socket:")) {
    return absl::StrCat(prefix, DescribeSocket(tid, target));
  }
  if (absl::StartsWith(target, "anon_inode:")) return "";
  if (!target.empty() && IsNamedPipe(path)) return absl::StrCat(target, ", a named pipe");
  return target;
}

bool ReadMemory(pid_t tid, uint64_t address, void* to, size_t size) {
  const int fd = open(absl::StrCat("/proc/", tid, "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = pread(fd, to, size, static_cast<off_t>(address));
  close(fd);
  return got == static_cast<ssize_t>(size);
}

std::string ReadText(pid_t tid, uint64_t address) {
  std::string text;
  char piece[64];
  // Reads small pieces, because the text may end just before unmapped memory.
  while (text.size() < 4096 && ReadMemory(tid, address + text.size(), piece, sizeof(piece))) {
    const size_t size = std::find(piece, piece + sizeof(piece), '\0') - piece;
    text.append(piece, size);
    if (size < sizeof(piece)) return text;
  }
  return "";
}

std::string RunCountOf(pid_t pid, pid_t tid) {
  const std::string status = ReadFile(TaskPath(pid, tid, "status"));
  const size_t begin = status.find("voluntary_ctxt_switches:");
  return begin == std::string::npos ? "" : status.substr(begin);
}

pid_t TracerOf(pid_t pid) {
  const std::string status = ReadFile(TaskPath(pid, pid, "status"));
  const size_t begin = status.find("TracerPid:");
  pid_t tracer = 0;
  if (begin == std::string::npos) return 0;
  return std::sscanf(status.c_str() + begin, "TracerPid: %d", &tracer) == 1 ? tracer : 0;
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  const std::string text = ReadFile(TaskPath(pid, pid, "children"));
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipWhitespace())) {
    pid_t child = 0;
    if (absl::SimpleAtoi(word, &child)) children.push_back(child);
  }
  return children;
}

}  // namespace muster::observe
