#include "tests/util/process/wall_clock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace {

constexpr time_t kJump = 3600;
std::atomic<bool> jumps{false};
std::atomic<time_t> ahead{0};

}  // namespace

// Comes before libc's function, for all code in this process.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const int result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (result == 0 && clock == CLOCK_REALTIME) {
    now->tv_sec += jumps ? ahead += kJump : ahead.load();
  }
  return result;
}

namespace muster::testing {

JumpingWallClock::JumpingWallClock() { jumps = true; }
JumpingWallClock::~JumpingWallClock() { jumps = false; }

}  // namespace muster::testing
