#ifndef MUSTER_TESTS_UTIL_PROCESS_WALL_CLOCK_H_
#define MUSTER_TESTS_UTIL_PROCESS_WALL_CLOCK_H_

namespace muster::testing {

// While it lives, each read of this process's wall clock is an hour later than the one before. Code
// under test must not take time-outs from that clock.
class JumpingWallClock {
 public:
  JumpingWallClock();
  ~JumpingWallClock();
  JumpingWallClock(const JumpingWallClock&) = delete;
  JumpingWallClock& operator=(const JumpingWallClock&) = delete;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_PROCESS_WALL_CLOCK_H_
