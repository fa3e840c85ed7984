#include "tests/simulation/world/simulated_clock.h"

#include <algorithm>
#include <utility>

namespace muster::simulation {

void SimulatedClock::At(absl::Duration time, Event event) {
  heap_.push_back({std::max(time, now_), ++arranged_, std::move(event)});
  std::push_heap(heap_.begin(), heap_.end(), Later);
}

bool SimulatedClock::Step() {
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), Later);
  const Entry next = std::move(heap_.back());
  heap_.pop_back();
  now_ = next.time;
  ++steps_;
  next.event();
  return true;
}

}  // namespace muster::simulation
