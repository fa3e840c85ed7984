#ifndef MUSTER_CLIENT_NCCL_COMMUNICATOR_POLL_PACER_H_
#define MUSTER_CLIENT_NCCL_COMMUNICATOR_POLL_PACER_H_

#include <algorithm>
#include <thread>

#include "client/src/base/steady_clock.h"

namespace muster::internal {

// A pacer for a loop that polls. Pause() yields for the first 2 ms, since work of microseconds
// should not wait for a timer. Then it sleeps for a hundredth of the time that has passed, at most
// 1 ms, so the loop is late by about 1 % at most.
class PollPacer {
 public:
  void Pause() {
    const SteadyClock::duration elapsed = SteadyClock::now() - start_;
    if (elapsed < kYieldFor) return std::this_thread::yield();
    std::this_thread::sleep_for(std::min<SteadyClock::duration>(elapsed / 100, kLongest));
  }

 private:
  static constexpr std::chrono::milliseconds kYieldFor{2};
  static constexpr std::chrono::milliseconds kLongest{1};

  const SteadyTime start_ = SteadyClock::now();
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_COMMUNICATOR_POLL_PACER_H_
