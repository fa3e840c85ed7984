#ifndef MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_CLOCK_H_
#define MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_CLOCK_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/time/time.h"

namespace muster::simulation {

// A simulated clock with a queue of events. Time stands still during an event, and then jumps to
// the next one. Events of the same time run in the order in which they were added.
class SimulatedClock {
 public:
  using Event = std::function<void()>;

  // Returns the time since the beginning.
  absl::Duration now() const { return now_; }

  void After(absl::Duration delay, Event event) { At(now_ + delay, std::move(event)); }
  // Runs `event` at `time`, which must not have passed.
  void At(absl::Duration time, Event event);

  // Runs the next event. Returns false if there is none.
  bool Step();
  uint64_t steps() const { return steps_; }

 private:
  struct Entry {
    absl::Duration time;
    uint64_t number;
    Event event;
  };
  // Orders the heap: its top is the earliest event.
  static bool Later(const Entry& a, const Entry& b) {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }

  absl::Duration now_;
  uint64_t arranged_ = 0;
  uint64_t steps_ = 0;
  std::vector<Entry> heap_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_CLOCK_H_
