#include "server/web/page/status_feed.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::web {
namespace {

constexpr absl::Duration kShortestPause = absl::Seconds(1);
// The share of time that samples may take, as a divisor. The coordinator stands still during a part
// of each sample.
constexpr int kShare = 20;

}  // namespace

StatusFeed::StatusFeed(uint64_t instance, std::function<absl::Duration()> clock,
                       std::function<Sample()> sample)
    : instance_(instance), clock_(std::move(clock)), sample_(std::move(sample)) {}

std::string StatusFeed::Answer(absl::string_view known_version) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (changes_ == 0 || clock_() - sampled_at_ >= pause_) Refresh();
  const std::string version = Version();
  const bool known = known_version == version;
  const absl::Duration now = latest_.at + (clock_() - sampled_at_);
  return absl::StrCat("{\"version\":\"", version, "\",\"now\":", absl::ToInt64Milliseconds(now),
                      ",\"at\":", absl::ToInt64Milliseconds(latest_.at),
                      ",\"poll\":", absl::ToInt64Milliseconds(pause_), known ? "" : ",",
                      known ? "" : latest_.content, "}");
}

void StatusFeed::Refresh() {
  const absl::Duration start = clock_();
  Sample sample = sample_();
  sampled_at_ = start;
  pause_ = std::max(kShortestPause, kShare * (clock_() - start));
  if (changes_ == 0 || sample.content != latest_.content) ++changes_;
  latest_ = std::move(sample);
}

std::string StatusFeed::Version() const {
  return absl::StrCat(absl::Hex(instance_), "-", changes_);
}

}  // namespace muster::web
