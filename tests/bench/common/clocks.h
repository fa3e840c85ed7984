#ifndef MUSTER_TESTS_BENCH_COMMON_CLOCKS_H_
#define MUSTER_TESTS_BENCH_COMMON_CLOCKS_H_

#include <sys/types.h>

#include <cstdint>
#include <ctime>

namespace muster::testing {

// Returns the nanoseconds of a clock: CLOCK_MONOTONIC, which all processes of a machine share, or
// CLOCK_PROCESS_CPUTIME_ID.
inline int64_t Nanos(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

// Returns the processor time of another process in nanoseconds, or 0 if it has ended.
inline int64_t ProcessorNanosOf(pid_t pid) {
  clockid_t clock;
  return clock_getcpuclockid(pid, &clock) == 0 ? Nanos(clock) : 0;
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_COMMON_CLOCKS_H_
