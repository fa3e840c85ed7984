#include "server/core/reports/store_stalls.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/api/describe.h"

namespace muster::core {
namespace {

// The most waits that one report names.
constexpr size_t kMostNamed = 3;

}  // namespace

void StoreStalls::NoteStep() {
  const absl::Duration warning = job_.options.stall_warning;
  if (next_ < absl::InfiniteFuture() || warning == absl::ZeroDuration() || job_.draining) return;
  if (!store_.operations().all().empty()) next_ = job_.now + warning;
}

void StoreStalls::Stop() { next_ = absl::InfiniteFuture(); }

void StoreStalls::Check() {
  if (next_ > job_.now) return;
  const store::ParkedOperation* const oldest = store_.operations().OldestWait();
  if (oldest == nullptr) return Stop();
  if (oldest_ != oldest->serial) {
    oldest_ = oldest->serial;
    clock_.Restart(oldest->since);
  }
  if (clock_.Next(job_.options.stall_warning) <= job_.now) {
    clock_.NoteReported(job_.now);
    Announce();
  }
  next_ = clock_.Next(job_.options.stall_warning);
}

void StoreStalls::Announce() {
  const std::vector<StoreWaiters> waits = status_reporter_.StoreWaits(job_.now);
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(waits.size(), kMostNamed); ++i) {
    texts.push_back(DescribeStoreWaiters(waits[i], members_.node_names()));
  }
  if (waits.size() > kMostNamed) {
    texts.push_back(absl::StrCat(waits.size() - kMostNamed, " more keys are waited for"));
  }
  const std::string text = absl::StrJoin(texts, "; ");
  job_.Log(Severity::kWarning, text);
  ++job_.tally.counters.stall_warnings;
  status_reporter_.Inquire(texts[0]);
}

}  // namespace muster::core
