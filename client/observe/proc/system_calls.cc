#include "client/observe/proc/system_calls.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace muster::observe {
namespace {

// The meaning of a call's first arguments.
enum class About { kNothing, kDescriptor, kPath, kPathAfterFolder, kDescriptors };

struct Call {
  int64_t number;
  const char* name;
  About about = About::kNothing;
};

// Calls in which a process may stay for long. Some do not exist on every architecture.
constexpr Call kCalls[] = {
    {SYS_read, "read", About::kDescriptor},
    {SYS_write, "write", About::kDescriptor},
    {SYS_readv, "readv", About::kDescriptor},
    {SYS_writev, "writev", About::kDescriptor},
    {SYS_pread64, "pread64", About::kDescriptor},
    {SYS_pwrite64, "pwrite64", About::kDescriptor},
    {SYS_preadv, "preadv", About::kDescriptor},
    {SYS_pwritev, "pwritev", About::kDescriptor},
    {SYS_fsync, "fsync", About::kDescriptor},
    {SYS_fdatasync, "fdatasync", About::kDescriptor},
    {SYS_sync, "sync"},
    {SYS_syncfs, "syncfs", About::kDescriptor},
    {SYS_ftruncate, "ftruncate", About::kDescriptor},
    {SYS_fallocate, "fallocate", About::kDescriptor},
    {SYS_flock, "flock", About::kDescriptor},
    {SYS_fcntl, "fcntl", About::kDescriptor},
    {SYS_ioctl, "ioctl", About::kDescriptor},
    {SYS_getdents64, "getdents64", About::kDescriptor},
    {SYS_fstat, "fstat", About::kDescriptor},
    {SYS_close, "close", About::kDescriptor},
    {SYS_splice, "splice", About::kDescriptor},
    {SYS_sendfile, "sendfile", About::kDescriptor},
    {SYS_accept, "accept", About::kDescriptor},
    {SYS_accept4, "accept4", About::kDescriptor},
    {SYS_connect, "connect", About::kDescriptor},
    {SYS_recvfrom, "recvfrom", About::kDescriptor},
    {SYS_recvmsg, "recvmsg", About::kDescriptor},
    {SYS_sendto, "sendto", About::kDescriptor},
    {SYS_sendmsg, "sendmsg", About::kDescriptor},
    {SYS_openat, "openat", About::kPathAfterFolder},
    {SYS_newfstatat, "newfstatat", About::kPathAfterFolder},
    {SYS_statx, "statx", About::kPathAfterFolder},
    {SYS_mkdirat, "mkdirat", About::kPathAfterFolder},
    {SYS_unlinkat, "unlinkat", About::kPathAfterFolder},
    {SYS_mount, "mount"},
    {SYS_execve, "execve", About::kPath},
    {SYS_ppoll, "ppoll", About::kDescriptors},
    {SYS_pselect6, "pselect6"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_rt_sigsuspend, "rt_sigsuspend"},
    {SYS_semtimedop, "semtimedop"},
    {SYS_msgrcv, "msgrcv"},
    {SYS_mq_timedreceive, "mq_timedreceive", About::kDescriptor},
    {SYS_mmap, "mmap"},
    {SYS_munmap, "munmap"},
    {SYS_madvise, "madvise"},
    {SYS_exit_group, "exit_group"},
    {SYS_clone, "clone"},
#ifdef SYS_open
    {SYS_open, "open", About::kPath},
    {SYS_stat, "stat", About::kPath},
    {SYS_lstat, "lstat", About::kPath},
    {SYS_mkdir, "mkdir", About::kPath},
    {SYS_unlink, "unlink", About::kPath},
    {SYS_rename, "rename", About::kPath},
    {SYS_poll, "poll", About::kDescriptors},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
    {SYS_vfork, "vfork"},
    {SYS_fork, "fork"},
#endif
};

// Returns null if the call is not in the table.
const Call* Find(int64_t number) {
  const Call* const found = std::find_if(std::begin(kCalls), std::end(kCalls),
                                         [number](const Call& c) { return c.number == number; });
  return found == std::end(kCalls) ? nullptr : found;
}

std::string DescribePolled(pid_t tid, const SystemCall& call) {
  pollfd first;
  if (call.arguments[1] == 0 || !ReadMemory(tid, call.arguments[0], &first, sizeof(first))) {
    return "";
  }
  const std::string one = DescribeDescriptor(tid, first.fd);
  if (one.empty() || call.arguments[1] == 1) return one;
  return absl::StrCat(one, " and ", call.arguments[1] - 1, " more");
}

}  // namespace

std::string NameOf(int64_t number) {
  if (number < 0) return "";
  const Call* const call = Find(number);
  return call == nullptr ? absl::StrCat("system call ", number) : call->name;
}

std::string TargetOf(pid_t tid, const SystemCall& call) {
  const Call* const known = Find(call.number);
  if (known == nullptr) return "";
  switch (known->about) {
    case About::kNothing:
      return "";
    case About::kDescriptor:
      return DescribeDescriptor(tid, static_cast<int>(call.arguments[0]));
    case About::kPath:
      return ReadText(tid, call.arguments[0]);
    case About::kPathAfterFolder:
      return ReadText(tid, call.arguments[1]);
    case About::kDescriptors:
      return DescribePolled(tid, call);
  }
  return "";
}

bool IsFutexWait(const SystemCall& call) {
  if (call.number != SYS_futex) return false;
  const uint64_t what = call.arguments[1] & FUTEX_CMD_MASK;
  return what == FUTEX_WAIT || what == FUTEX_WAIT_BITSET || what == FUTEX_LOCK_PI;
}

bool IsChildWait(const SystemCall& call) {
  return call.number == SYS_wait4 || call.number == SYS_waitid;
}

}  // namespace muster::observe
