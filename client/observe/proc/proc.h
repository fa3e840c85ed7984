#ifndef MUSTER_CLIENT_OBSERVE_PROC_PROC_H_
#define MUSTER_CLIENT_OBSERVE_PROC_PROC_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// Reads from /proc what the kernel says about a process and its threads: see proc(5).
//
// Results are empty if the process is gone, or may not be inspected. A read of /proc can block
// forever while the process is inside a driver. Therefore callers use a thread that they do not
// wait for (bounded_work.h). Only AllProcesses() and ProcessStatOf() never block. Tests:
// tests/client/observe.
namespace muster::observe {

inline constexpr size_t kMaxProcBytes = 64 << 10;

// Returns at most `max_bytes` of a file, or "" if it cannot be read.
std::string ReadFile(const std::string& path, size_t max_bytes = kMaxProcBytes);
// Returns the target of a symbolic link, or "" if it cannot be read.
std::string ReadLink(const std::string& path);

// The state of a process at one moment.
struct ProcessStat {
  std::string name;  // as ps(1) shows it
  char state = '?';  // R, S, D, T, t, Z, X, I
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  uint64_t cpu_ticks = 0;  // in user and system mode, in clock ticks
  // Time from boot to the start of the process, in clock ticks. No other process since boot has
  // both this and the pid.
  uint64_t start_ticks = 0;

  // Returns whether the process has ended. It may not have been reaped yet.
  bool ended() const { return state == 'Z' || state == 'X'; }
};
std::optional<ProcessStat> ProcessStatOf(pid_t pid);
// Returns all processes, in no order.
std::vector<pid_t> AllProcesses();

// Returns the value of a variable in a text like /proc/PID/environ, or "".
std::string VariableIn(absl::string_view environment, absl::string_view name);

// The state of a thread at one moment.
struct ThreadStat {
  pid_t tid = 0;
  std::string name;
  char state = '?';        // R, S, D, T, t, Z, X, I
  uint64_t cpu_ticks = 0;  // in user and system mode, in clock ticks
  std::string runs;        // RunCountOf(), in state D only, because cpu_ticks are too coarse
  friend bool operator==(const ThreadStat& a, const ThreadStat& b) {
    return a.tid == b.tid && a.state == b.state && a.cpu_ticks == b.cpu_ticks && a.runs == b.runs;
  }
};

// Returns at most `max_threads` threads, the main thread first.
std::vector<ThreadStat> Threads(pid_t pid, size_t max_threads = 1024);
std::optional<ThreadStat> ThreadStatOf(pid_t pid, pid_t tid);

// A system call that a thread is in, and its arguments.
struct SystemCall {
  int64_t number = -1;  // -1: it sleeps outside a system call, for example in a page fault
  uint64_t arguments[6] = {};
};
// Returns nullopt if the thread runs, or this process may not know.
std::optional<SystemCall> SystemCallOf(pid_t pid, pid_t tid);
// Like SystemCallOf(), for a thread that may be between two calls for a moment: retries for 10 ms.
std::optional<SystemCall> AwaitSystemCall(pid_t pid, pid_t tid);

// Returns the kernel function in which a thread sleeps, or "" if it does not sleep or that is
// unknown.
std::string KernelFunctionOf(pid_t pid, pid_t tid);

// ---- Shared by all threads: pass a living one, because a thread that has ended has none of it
// ----

// Returns "/data/shard-7", "its standard output, a pipe" or "a TCP connection to 10.0.0.1:443".
// Does not access the file systems of these files, which may hang.
std::string DescribeDescriptor(pid_t tid, int fd);

// Reads memory of the process. Returns false if it cannot be read.
bool ReadMemory(pid_t tid, uint64_t address, void* to, size_t size);
// Returns the zero-terminated text at `address`, at most 4 KiB.
std::string ReadText(pid_t tid, uint64_t address);

// ----

// Returns a text that changes whenever the thread has run.
std::string RunCountOf(pid_t pid, pid_t tid);

// Returns the process that traces it, such as a debugger, or 0.
pid_t TracerOf(pid_t pid);

// Returns its children, in the order of their start.
std::vector<pid_t> ChildrenOf(pid_t pid);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_PROC_PROC_H_
