#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_ENDING_SIGNALS_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_ENDING_SIGNALS_H_

#include <optional>

namespace muster::launcher {

// Counts the signals that ask the run to end: see IsEndingSignal().
class EndingSignals {
 public:
  void Add(int signal) {
    ++count_;
    if (!first_) first_ = signal;
  }

  int count() const { return count_; }
  std::optional<int> first() const { return first_; }

 private:
  int count_ = 0;
  std::optional<int> first_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_ENDING_SIGNALS_H_
