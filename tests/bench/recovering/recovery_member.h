#ifndef MUSTER_TESTS_BENCH_RECOVERING_RECOVERY_MEMBER_H_
#define MUSTER_TESTS_BENCH_RECOVERING_RECOVERY_MEMBER_H_

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

#include "tests/bench/common/clocks.h"

namespace muster::testing {

// A report that a member process of recovery.cc or recovery_nccl.cc writes to the pipe in its last
// argument. All processes of a machine share the clock.
struct Report {
  enum Kind : int32_t { kReady, kLost, kReformed, kBarrier, kReduced };

  Kind kind;
  int32_t rank;
  int64_t pid;
  int64_t nanos;
};

inline int64_t MonotonicNanos() { return Nanos(CLOCK_MONOTONIC); }

// A member's end of the pipe.
class Reporter {
 public:
  explicit Reporter(const char* path) : pipe_(open(path, O_WRONLY | O_CLOEXEC)) {}

  // Writes the report in one write, which pipes do not split.
  void Write(Report::Kind kind, int rank) const {
    const Report report = {kind, rank, getpid(), MonotonicNanos()};
    if (write(pipe_, &report, sizeof(report)) != sizeof(report)) _exit(1);
  }

 private:
  const int pipe_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_RECOVERING_RECOVERY_MEMBER_H_
