#ifndef MUSTER_CLIENT_OBSERVE_PROC_H_
#define MUSTER_CLIENT_OBSERVE_PROC_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// What the kernel says of a process and its threads: see proc(5). All of it may be of a process
// that has gone meanwhile, or may not be read: then it is empty. A look at /proc can block, where
// the process is inside a driver: callers have a thread for it that nobody waits for. Only
// AllProcesses() and ProcessStatOf() never do.
namespace muster::observe {

inline constexpr size_t kMaxProcBytes = 64 << 10;

// At most `max_bytes` of a file. Empty where it cannot be read.
std::string ReadFile(const std::string& path, size_t max_bytes = kMaxProcBytes);
// Where a symbolic link points to. Empty where it cannot be read.
std::string ReadLink(const std::string& path);

// A process at one moment.
struct ProcessStat {
  std::string name;  // as ps(1) shows it
  char state = '?';  // R, S, D, T, t, Z, X, I
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  uint64_t cpu_ticks = 0;  // in user and system mode, in ticks of the clock
  // From the machine's start to its own: no other process has both this and the pid.
  uint64_t start_ticks = 0;

  // It may not have been waited for yet.
  bool ended() const { return state == 'Z' || state == 'X'; }
};
std::optional<ProcessStat> ProcessStatOf(pid_t pid);
// The processes that are there, in no order.
std::vector<pid_t> AllProcesses();

// The value that a text like /proc/PID/environ has for a variable; empty: none.
std::string VariableIn(absl::string_view environment, absl::string_view name);

// A thread at one moment.
struct ThreadStat {
  pid_t tid = 0;
  std::string name;
  char state = '?';        // R, S, D, T, t, Z, X, I
  uint64_t cpu_ticks = 0;  // in user and system mode, in ticks of the clock
  std::string runs;        // RunCountOf(), in state D only: ticks are too long to tell
  friend bool operator==(const ThreadStat& a, const ThreadStat& b) {
    return a.tid == b.tid && a.state == b.state && a.cpu_ticks == b.cpu_ticks && a.runs == b.runs;
  }
};

// The first thread first; at most `max_threads`.
std::vector<ThreadStat> Threads(pid_t pid, size_t max_threads = 1024);
std::optional<ThreadStat> StatOf(pid_t pid, pid_t tid);

// The system call that a thread is in, and its arguments.
struct SystemCall {
  int64_t number = -1;  // -1: it sleeps outside of one, as at a page fault
  uint64_t arguments[6] = {};
};
// Nothing where the thread runs, or where we may not know.
std::optional<SystemCall> SystemCallOf(pid_t pid, pid_t tid);
// The same, of one that may be between two calls for a moment: looks a few times, for 10 ms in all.
std::optional<SystemCall> AwaitSystemCall(pid_t pid, pid_t tid);

// Where in the kernel a thread sleeps; empty: it does not, or unknown.
std::string KernelFunctionOf(pid_t pid, pid_t tid);

// ---- Of what all threads of a process share; a first thread that has ended has it no more ----

// "/data/shard-7", "its standard output, a pipe", "a TCP connection to 10.0.0.1:443". Waits for no
// file system.
std::string DescribeDescriptor(pid_t tid, int fd);

// Bytes of the memory; false where they cannot be read.
bool ReadMemory(pid_t tid, uint64_t address, void* to, size_t size);
// A text there that ends with a zero, of at most 4 KiB.
std::string ReadText(pid_t tid, uint64_t address);

// ----

// Changes whenever the thread has run.
std::string RunCountOf(pid_t pid, pid_t tid);

// The process that traces it, as a debugger does; 0: none.
pid_t TracerOf(pid_t pid);

// Its children, in the order of their start.
std::vector<pid_t> ChildrenOf(pid_t pid);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_PROC_H_
