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

// Returns text such as "ranks 3,5 have waited 41s in the store: key 'k' has not been set".
std::string Describe(const StoreWaiters& wait) {
  std::vector<std::string> who;
  if (!wait.ranks.empty()) who.push_back(Ranks(wait.ranks));
  if (wait.others == 1) who.emplace_back("a client without a rank");
  if (wait.others > 1) who.push_back(absl::StrCat(wait.others, " clients without a rank"));
  const bool many = wait.ranks.size() + wait.others > 1;
  return absl::StrCat(absl::StrJoin(who, " and "), many ? " have" : " has", " waited ",
                      DescribeDuration(wait.age), " in the store: ", wait.what);
}

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
  const std::vector<StoreWaiters> waits = store_.Waits(job_.now);
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(waits.size(), kMostNamed); ++i) {
    texts.push_back(Describe(waits[i]));
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
