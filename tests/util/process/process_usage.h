#ifndef MUSTER_TESTS_UTIL_PROCESS_PROCESS_USAGE_H_
#define MUSTER_TESTS_UTIL_PROCESS_PROCESS_USAGE_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/time/time.h"

namespace muster::testing {

// The memory of a living process, in bytes.
struct Memory {
  int64_t resident = 0;
  int64_t peak = 0;  // the most that was ever resident, or since ResetPeak
};
Memory MemoryOf(pid_t pid);
void ResetPeak(pid_t pid);

// The processor time of a living process.
struct ProcessorTime {
  absl::Duration user;
  absl::Duration system;
};
ProcessorTime ProcessorTimeOf(pid_t pid);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_PROCESS_PROCESS_USAGE_H_
