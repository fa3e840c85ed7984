#ifndef MUSTER_SERVER_DAEMON_MEMORY_TRIMMING_H_
#define MUSTER_SERVER_DAEMON_MEMORY_TRIMMING_H_

#include <cstdint>

#include "absl/time/time.h"

namespace muster::daemon {

// Configures the allocator. Call it once, before any thread starts.
void SetUpMemory();

// The policy for returning free memory to the system. glibc keeps the memory of small objects after
// they are freed, however much it is.
class TrimPolicy {
 public:
  // Returns whether the process should trim now. Call it about once a second with the resident
  // memory that is unused, and the processor time used so far. After trimming, call Trimmed() with
  // the memory that is still unused.
  bool ShouldTrim(int64_t unused, absl::Duration cpu);
  void Trimmed(int64_t unused);

 private:
  // The least unused memory since the last trim. It is code, stacks and gaps between objects in
  // use, which cannot be trimmed.
  int64_t baseline_ = 0;
  absl::Duration cpu_;
  int deferrals_ = 0;  // how often trimming was put off for other work
};

// Returns free memory to the system if the policy says so. Call it about once a second, from one
// thread.
void TrimMemory(TrimPolicy* policy);

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_MEMORY_TRIMMING_H_
