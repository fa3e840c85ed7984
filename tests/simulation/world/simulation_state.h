#ifndef MUSTER_TESTS_SIMULATION_WORLD_SIMULATION_STATE_H_
#define MUSTER_TESTS_SIMULATION_WORLD_SIMULATION_STATE_H_

#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/simulation/world/simulated_clock.h"

namespace muster::simulation {

// The state that all parts of a simulation share: the clock, the violations, and the printed
// schedule.
class SimulationState {
 public:
  // `verbose`: prints the schedule to standard error as it unfolds.
  explicit SimulationState(bool verbose) : verbose_(verbose) {}

  SimulatedClock clock;

  absl::Duration now() const { return clock.now(); }

  // Prints one line of the schedule: the process and the event. A text that is expensive to
  // make is passed as a function, which is called only if the schedule is printed.
  template <typename... Text>
  void Trace(const Text&... text) {
    if (verbose_) Print(absl::StrCat(Written(text)...));
  }

  // Reports that an invariant does not hold.
  template <typename... Text>
  void Violation(const Text&... text) {
    violations_.push_back(absl::StrCat(text...));
    Trace("*** ", violations_.back());
  }
  const std::vector<std::string>& violations() const { return violations_; }

  bool verbose() const { return verbose_; }

 private:
  template <typename T>
  static auto Written(const T& text) {
    if constexpr (std::is_invocable_v<const T&>) {
      return text();
    } else if constexpr (std::is_same_v<T, absl::Status>) {
      return text.ToString();
    } else {
      return absl::AlphaNum(text);
    }
  }
  void Print(const std::string& line) const {
    absl::FPrintF(stderr, "%10.4f  %s\n", absl::ToDoubleSeconds(now()), line);
  }

  const bool verbose_;
  std::vector<std::string> violations_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_SIMULATION_STATE_H_
