#ifndef MUSTER_TESTS_UTIL_WALL_CLOCK_H_
#define MUSTER_TESTS_UTIL_WALL_CLOCK_H_

namespace muster::testing {

// While it lives, the wall clock of this process has been set forward by an hour whenever it is
// read. Nothing that must work then may take a time-out from it.
class JumpingWallClock {
 public:
  JumpingWallClock();
  ~JumpingWallClock();
  JumpingWallClock(const JumpingWallClock&) = delete;
  JumpingWallClock& operator=(const JumpingWallClock&) = delete;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_WALL_CLOCK_H_
