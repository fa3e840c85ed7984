#ifndef MUSTER_CLIENT_OBSERVE_SYSTEM_CALLS_H_
#define MUSTER_CLIENT_OBSERVE_SYSTEM_CALLS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "client/observe/proc.h"

namespace muster::observe {

// "read"; of one that has no name here its number: "system call 999".
std::string NameOf(int64_t number);

// What the call of this thread is about: the file, pipe, socket or path that it names; empty where
// it names none.
std::string TargetOf(pid_t tid, const SystemCall& call);

// Whether it waits for a lock, a condition, or the end of a thread.
bool IsFutexWait(const SystemCall& call);
// Whether it waits for a child.
bool IsChildWait(const SystemCall& call);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_SYSTEM_CALLS_H_
