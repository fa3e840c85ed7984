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
enum class ArgumentKind { kNothing, kDescriptor, kPath, kPathAfterFolder, kDescriptors };

struct KnownCall {
  int64_t number;
  const char* name;
  ArgumentKind about = ArgumentKind::kNothing;
};

// Calls in which a process may stay for long. Some do not exist on every architecture.
constexpr KnownCall kKnownCalls[] = {
    {SYS_read, "read", ArgumentKind::kDescriptor},
    {SYS_write, "write", ArgumentKind::kDescriptor},
    {SYS_readv, "readv", ArgumentKind::kDescriptor},
    {SYS_writev, "writev", ArgumentKind::kDescriptor},
    {SYS_pread64, "pread64", ArgumentKind::kDescriptor},
    {SYS_pwrite64, "pwrite64", ArgumentKind::kDescriptor},
    {SYS_preadv, "preadv", ArgumentKind::kDescriptor},
    {SYS_pwritev, "pwritev", ArgumentKind::kDescriptor},
    {SYS_fsync, "fsync", ArgumentKind::kDescriptor},
    {SYS_fdatasync, "fdatasync", ArgumentKind::kDescriptor},
    {SYS_sync, "sync"},
    {SYS_syncfs, "syncfs", ArgumentKind::kDescriptor},
    {SYS_ftruncate, "ftruncate", ArgumentKind::kDescriptor},
    {SYS_fallocate, "fallocate", ArgumentKind::kDescriptor},
    {SYS_flock, "flock", ArgumentKind::kDescriptor},
    {SYS_fcntl, "fcntl", ArgumentKind::kDescriptor},
    {SYS_ioctl, "ioctl", ArgumentKind::kDescriptor},
    {SYS_getdents64, "getdents64", ArgumentKind::kDescriptor},
    {SYS_fstat, "fstat", ArgumentKind::kDescriptor},
    {SYS_close, "close", ArgumentKind::kDescriptor},
    {SYS_splice, "splice", ArgumentKind::kDescriptor},
    {SYS_sendfile, "sendfile", ArgumentKind::kDescriptor},
    {SYS_accept, "accept", ArgumentKind::kDescriptor},
    {SYS_accept4, "accept4", ArgumentKind::kDescriptor},
    {SYS_connect, "connect", ArgumentKind::kDescriptor},
    {SYS_recvfrom, "recvfrom", ArgumentKind::kDescriptor},
    {SYS_recvmsg, "recvmsg", ArgumentKind::kDescriptor},
    {SYS_sendto, "sendto", ArgumentKind::kDescriptor},
    {SYS_sendmsg, "sendmsg", ArgumentKind::kDescriptor},
    {SYS_openat, "openat", ArgumentKind::kPathAfterFolder},
    {SYS_newfstatat, "newfstatat", ArgumentKind::kPathAfterFolder},
    {SYS_statx, "statx", ArgumentKind::kPathAfterFolder},
    {SYS_mkdirat, "mkdirat", ArgumentKind::kPathAfterFolder},
    {SYS_unlinkat, "unlinkat", ArgumentKind::kPathAfterFolder},
    {SYS_mount, "mount"},
    {SYS_execve, "execve", ArgumentKind::kPath},
    {SYS_ppoll, "ppoll", ArgumentKind::kDescriptors},
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
    {SYS_mq_timedreceive, "mq_timedreceive", ArgumentKind::kDescriptor},
    {SYS_mmap, "mmap"},
    {SYS_munmap, "munmap"},
    {SYS_madvise, "madvise"},
    {SYS_exit_group, "exit_group"},
    {SYS_clone, "clone"},
#ifdef SYS_open
    {SYS_open, "open", ArgumentKind::kPath},
    {SYS_stat, "stat", ArgumentKind::kPath},
    {SYS_lstat, "lstat", ArgumentKind::kPath},
    {SYS_mkdir, "mkdir", ArgumentKind::kPath},
    {SYS_unlink, "unlink", ArgumentKind::kPath},
    {SYS_rename, "rename", ArgumentKind::kPath},
    {SYS_poll, "poll", ArgumentKind::kDescriptors},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
    {SYS_vfork, "vfork"},
    {SYS_fork, "fork"},
#endif
};

// Returns null if the call is not in the table.
const KnownCall* Find(int64_t number) {
  const KnownCall* const found =
      std::find_if(std::begin(kKnownCalls), std::end(kKnownCalls),
                   [number](const KnownCall& c) { return c.number == number; });
  return found == std::end(kKnownCalls) ? nullptr : found;
}

std::string DescribePolled(pid_t tid, const SystemCall& call) {
  pollfd first;
  if (call.arguments[1] == 0 || !ReadMemory(tid, call.arguments[0], &first, sizeof(first))) {
    return "";
  }
  const std::string polled = DescribeDescriptor(tid, first.fd);
  if (polled.empty() || call.arguments[1] == 1) return polled;
  return absl::StrCat(polled, " and ", call.arguments[1] - 1, " more");
}

}  // namespace

std::string SystemCallName(int64_t number) {
  if (number < 0) return "";
  const KnownCall* const call = Find(number);
  return call == nullptr ? absl::StrCat("system call ", number) : call->name;
}

std::string TargetOf(pid_t tid, const SystemCall& call) {
  const KnownCall* const known = Find(call.number);
  if (known == nullptr) return "";
  switch (known->about) {
    case ArgumentKind::kNothing:
      return "";
    case ArgumentKind::kDescriptor:
      return DescribeDescriptor(tid, static_cast<int>(call.arguments[0]));
    case ArgumentKind::kPath:
      return ReadText(tid, call.arguments[0]);
    case ArgumentKind::kPathAfterFolder:
      return ReadText(tid, call.arguments[1]);
    case ArgumentKind::kDescriptors:
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
