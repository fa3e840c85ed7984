#ifndef MUSTER_SERVER_CORE_SUPPORT_REPEAT_LIMITER_H_
#define MUSTER_SERVER_CORE_SUPPORT_REPEAT_LIMITER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "server/core/support/deadlines.h"

namespace muster::core {

// A limiter that keeps repeated warnings from filling the log. The first warning of a kind is told.
// The warnings of that kind in the next ten seconds are counted, and their number is told
// afterwards.
class RepeatLimiter {
 public:
  static constexpr absl::Duration kWindow = absl::Seconds(10);
  struct Suppressed {
    std::string kind;
    uint64_t count = 0;
  };

  // Returns whether this warning is told. If not, it is counted. The caller must have taken all
  // ended windows first.
  bool Allows(Time now, const std::string& kind) {
    const auto [suppressed, is_first] = suppressed_.try_emplace(kind, 0);
    if (is_first) {
      windows_.Set(kind, now + kWindow);
    } else {
      ++suppressed->second;
    }
    return is_first;
  }

  // Returns when the next window ends.
  Time Next() const { return windows_.Next(); }
  // Returns a kind whose window has ended, and how many warnings of it were left out.
  std::optional<Suppressed> TakeEnded(Time now) {
    std::optional<std::string> kind = windows_.Pop(now);
    if (!kind) return std::nullopt;
    const auto ended = suppressed_.extract(*kind);
    return Suppressed{*std::move(kind), ended.mapped()};
  }

 private:
  std::map<std::string, uint64_t> suppressed_;  // by kind
  Deadlines<std::string> windows_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_SUPPORT_REPEAT_LIMITER_H_
