#ifndef MUSTER_SERVER_DAEMON_MEMORY_TRIMMING_H_
#define MUSTER_SERVER_DAEMON_MEMORY_TRIMMING_H_

#include <cstdint>

#include "absl/time/time.h"

namespace muster::daemon {

// How the allocator is to hold memory. Once, before any thread is started.
void SetUpMemory();

// Says when memory that is free is worth being given back to the machine. glibc keeps what small
// objects leave behind when they are freed, however much it was.
class TrimPolicy {
 public:
  // What the process has in memory and does not use, and the processor time it has taken so far,
  // about every second. True: it should trim now, and say with Trimmed() what is unused after that.
  bool ShouldTrim(int64_t unused, absl::Duration cpu);
  void Trimmed(int64_t unused);

 private:
  // The least since the last time: code, stacks, and what lies between objects in use. That cannot
  // be trimmed.
  int64_t least_ = 0;
  absl::Duration cpu_;
  int busy_ = 0;  // how often it was put off because the process had other work
};

// Gives free memory back if that is worth it. Call about every second, from one thread.
void TrimMemory(TrimPolicy* policy);

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_MEMORY_TRIMMING_H_
