#include "tests/util/process/wall_clock.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace {

constexpr time_t kJump = 3600;
std::atomic<bool> jumps{false};
std::atomic<time_t> ahead{0};

}  // namespace

// These come before libc's functions, for all code in this process.

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const int result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (result == 0 && clock == CLOCK_REALTIME) {
    now->tv_sec += jumps ? ahead += kJump : ahead.load();
  }
  return result;
}

// Abseil's timed waits of 2022 begin with this one.
extern "C" int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec precise = {};
  const int result = clock_gettime(CLOCK_REALTIME, &precise);
  TIMESPEC_TO_TIMEVAL(now, &precise);
  return result;
}

namespace muster::testing {

JumpingWallClock::JumpingWallClock() { jumps = true; }
JumpingWallClock::~JumpingWallClock() { jumps = false; }

}  // namespace muster::testing
