#ifndef MUSTER_TESTS_SIMULATION_SIMULATED_TIMELINE_H_
#define MUSTER_TESTS_SIMULATION_SIMULATED_TIMELINE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/time/time.h"

namespace muster::simulation {

// Time that stands still while something happens, and jumps to what happens next. Events of one
// time happen in the order in which they were arranged.
class Timeline {
 public:
  using Event = std::function<void()>;

  // Since the beginning.
  absl::Duration now() const { return now_; }

  void After(absl::Duration delay, Event event) { At(now_ + delay, std::move(event)); }
  // `time` must not have passed.
  void At(absl::Duration time, Event event);

  // Lets the next event happen. False if there is none.
  bool Step();
  uint64_t steps() const { return steps_; }

 private:
  struct Entry {
    absl::Duration time;
    uint64_t number;
    Event event;
  };
  // Orders a heap whose top is the earliest.
  static bool Later(const Entry& a, const Entry& b) {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }

  absl::Duration now_;
  uint64_t arranged_ = 0;
  uint64_t steps_ = 0;
  std::vector<Entry> heap_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_SIMULATED_TIMELINE_H_
