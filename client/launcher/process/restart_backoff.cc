#include "client/launcher/process/restart_backoff.h"

#include <algorithm>

namespace muster::launcher {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(30);
// A process that stayed up for this long was healthy.
constexpr absl::Duration kHealthyUptime = absl::Seconds(10);

}  // namespace

std::optional<absl::Duration> RestartBackoff::NextPause(absl::Time started, absl::Time ended) {
  if (down_since_ == absl::InfinitePast() || ended - started >= kHealthyUptime) {
    down_since_ = ended;
    pause_ = absl::ZeroDuration();
    return pause_;
  }
  if (ended - down_since_ >= patience_) return std::nullopt;
  pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
  return pause_;
}

}  // namespace muster::launcher
