#ifndef MUSTER_CLIENT_OBSERVE_PROC_SYSTEM_CALLS_H_
#define MUSTER_CLIENT_OBSERVE_PROC_SYSTEM_CALLS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "client/observe/proc/proc.h"

namespace muster::observe {

// Returns the name of a system call, such as "read". Returns "system call 999" if the number is not
// in the table.
std::string SystemCallName(int64_t number);

// Returns the file, pipe, socket or path that the thread's call is about, or "".
std::string TargetOf(pid_t tid, const SystemCall& call);

// Returns whether the call waits for a lock, a condition variable, or the end of a thread.
bool IsFutexWait(const SystemCall& call);
// Returns whether the call waits for a child process.
bool IsChildWait(const SystemCall& call);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_PROC_SYSTEM_CALLS_H_
