#include "server/core/statistics/timeline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/support/bounded_text.h"

namespace muster::core {
namespace {

// The time within which the members of a large job report the same thing.
constexpr absl::Duration kClosely = absl::Seconds(10);
// The number of entries of one kind in a row that are kept one by one.
constexpr size_t kMany = 8;

}  // namespace

void Timeline::Add(Time now, Severity severity, absl::string_view text, absl::string_view kind) {
  if (severity == Severity::kDebug) return;
  std::string kept_text = Shortened(text, kMaxTextBytes);
  size_t count = 1;
  if (const auto replaced = FindReplaced(now, kept_text, kind); replaced != kept_.end()) {
    count += replaced->count;
    kept_.erase(replaced);
  }
  kept_.push_back({{now, severity, std::move(kept_text)}, kind, count});
  if (kept_.size() > kMaxEntries) kept_.pop_front();
}

std::deque<Timeline::Kept>::iterator Timeline::FindReplaced(Time now, absl::string_view text,
                                                            absl::string_view kind) {
  if (kind != kAttachedAgain) return FollowsMany(now, kind) ? kept_.end() - 1 : kept_.end();
  size_t of_kind = 0;
  auto latest = kept_.end();
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    if (kept->kind != kind) continue;
    if (kept->entry.text == text) return kept;
    ++of_kind;
    latest = kept;
  }
  return of_kind < kMany ? kept_.end() : latest;
}

bool Timeline::FollowsMany(Time now, absl::string_view kind) const {
  if (kind.empty() || kept_.size() < kMany) return false;
  const auto is_other = [&](const Kept& kept) { return kept.kind != kind; };
  if (std::any_of(kept_.end() - kMany, kept_.end(), is_other)) return false;
  return now - kept_.back().entry.when <= kClosely;
}

std::vector<TimelineEntry> Timeline::Entries() const {
  std::vector<TimelineEntry> entries;
  entries.reserve(kept_.size());
  for (const Kept& kept : kept_) {
    entries.push_back(kept.entry);
    if (kept.count == 1) continue;
    absl::StrAppend(&entries.back().text, " (the latest of ", kept.count, " of this kind)");
  }
  return entries;
}

}  // namespace muster::core
