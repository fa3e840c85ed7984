#ifndef MUSTER_TESTS_BENCH_RECOVERY_MEMBER_H_
#define MUSTER_TESTS_BENCH_RECOVERY_MEMBER_H_

#include <cstdint>
#include <ctime>

#include "tests/bench/clocks.h"

namespace muster::testing {

// What a member process of recovery.cc writes to the pipe that its last argument names. The clock
// is one for all processes of a machine.
struct Report {
  enum Kind : int32_t { kReady, kLost, kReformed, kBarrier };

  Kind kind;
  int32_t rank;
  int64_t pid;
  int64_t nanos;
};

inline int64_t MonotonicNanos() { return Nanos(CLOCK_MONOTONIC); }

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_RECOVERY_MEMBER_H_
