#include "server/core/statistics/lateness.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/core/api/describe.h"

namespace muster::core {
namespace {

constexpr absl::Duration kShortest = absl::Microseconds(100);
constexpr uint64_t kWindow = 1024;
constexpr size_t kMaxOperations = 64;
constexpr size_t kMaxRecords = 32768;  // of about 350 bytes, in two windows

// Thresholds of a report.
constexpr uint64_t kFewestCollectives = 10;
constexpr absl::Duration kLeastWait = absl::Milliseconds(1);  // per collective

// The number of collectives from which their usual length is known.
constexpr uint64_t kFewestKnown = 20;

Time Median(std::vector<Time> times) {
  const auto middle = times.begin() + (times.size() - 1) / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// Returns the index of the latest arrival. The rank that completed the collective may have come
// early, stopped waiting and come back. If several came at the same time, the rank that completed
// it counts as the last.
size_t LatestOf(const Arrivals& arrivals) {
  const std::vector<Time>& times = arrivals.times;
  const auto latest = std::max_element(times.begin(), times.end());
  return *latest > times[arrivals.last] ? latest - times.begin() : arrivals.last;
}

}  // namespace

// ---- DurationHistogram ----

size_t DurationHistogram::BucketOf(absl::Duration duration) {
  if (duration < kShortest) return 0;
  const double octaves = std::log2(absl::FDivDuration(duration, kShortest));
  return std::min(kBuckets - 1, 1 + static_cast<size_t>(2 * octaves));
}

void DurationHistogram::Add(const DurationHistogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
}

uint64_t DurationHistogram::count() const {
  uint64_t sum = 0;
  for (const uint32_t count : counts_) sum += count;
  return sum;
}

absl::Duration DurationHistogram::Quantile(double share) const {
  const double wanted = share * static_cast<double>(count());
  double seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (counts_[i] == 0 || seen < wanted) continue;
    // The middle of the bucket, by ratio.
    return i == 0 ? absl::ZeroDuration()
                  : kShortest * std::exp2((static_cast<double>(i) - 0.5) / 2);
  }
  return absl::ZeroDuration();
}

// ---- Words ----

std::string DescribeLateness(const Straggler& straggler) {
  const double share = 100.0 * static_cast<double>(straggler.last) /
                       static_cast<double>(std::max<uint64_t>(1, straggler.collectives));
  return absl::StrFormat(
      "was last in %.0f%% of %d %s, %s behind the others (p95 %s); they waited %s for it", share,
      straggler.collectives, straggler.operation, DescribeDuration(straggler.median),
      DescribeDuration(straggler.p95), DescribeDuration(straggler.waited_for));
}

// ---- LatenessStats ----

std::string LatenessStats::NameOf(const std::string& group, const Operation& operation) {
  Operation any = operation;
  any.label = MaskNumbers(operation.label);
  any.payload_size.reset();
  return absl::StrCat(DescribeOperation(any), " of ", group);
}

LatenessStats::History& LatenessStats::Find(const GroupLabels& group, const Operation& operation,
                                            const std::vector<uint32_t>& ranks) {
  if (!histories_.empty() && group.description == latest_group_ &&
      SameOperation(operation, latest_operation_) && histories_.front().key.ranks == ranks) {
    return histories_.front();
  }
  latest_group_ = group.description;
  latest_operation_ = operation;
  Key key = {NameOf(group.description, operation), ranks};
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    histories_.splice(histories_.begin(), histories_, known->second);
    return histories_.front();
  }
  WaitHistogram* waits = tally_->collective_waits.Find(operation.kind, group.name, operation.label);
  histories_.push_front({std::move(key), waits, {}, {}});
  History& history = histories_.front();
  history.current.records.resize(ranks.size());
  history.previous.records.resize(ranks.size());
  by_key_[history.key] = histories_.begin();
  records_ += ranks.size();
  MakeRoom();
  return history;
}

// Keeps the entry that was just made, however large it is.
void LatenessStats::MakeRoom() {
  while (histories_.size() > 1 && (records_ > kMaxRecords || histories_.size() > kMaxOperations)) {
    records_ -= histories_.back().key.ranks.size();
    by_key_.erase(histories_.back().key);
    histories_.pop_back();
  }
}

void LatenessStats::Note(const GroupLabels& group, const Operation& operation,
                         const std::vector<uint32_t>& ranks, const Arrivals& arrivals) {
  Count(operation.kind, &tally_->counters.completed);
  if (ranks.size() < 2) return;
  History& history = Find(group, operation, ranks);
  if (history.current.collectives == kWindow) {
    history.previous = std::exchange(history.current, {});
    history.current.records.resize(ranks.size());
  }
  Window& window = history.current;
  const std::vector<Time>& times = arrivals.times;
  const Time median = Median(times);
  for (size_t i = 0; i < ranks.size(); ++i) {
    window.records[i].lateness.Add(std::max(absl::ZeroDuration(), times[i] - median));
  }
  const size_t latest = LatestOf(arrivals);
  ++window.records[latest].last;
  window.records[latest].waited_for += times[latest] - median;
  const absl::Duration took = arrivals.completed - *std::min_element(times.begin(), times.end());
  window.slowest = std::max(window.slowest, took);
  history.waits->Add(took);
  ++window.collectives;
}

Straggler LatenessStats::Summarize(const History& history, size_t index) {
  const Record& now = history.current.records[index];
  const Record& before = history.previous.records[index];
  DurationHistogram lateness = now.lateness;
  lateness.Add(before.lateness);
  return {history.key.ranks[index], "",
          history.key.name,         history.current.collectives + history.previous.collectives,
          now.last + before.last,   lateness.Quantile(0.5),
          lateness.Quantile(0.95),  now.waited_for + before.waited_for};
}

// Returns whether the rank stands out. By chance, each of n ranks is last in one of n collectives.
// Runs for every rank, so it does not look at the distribution.
bool LatenessStats::IsStraggler(const History& history, size_t index) {
  const Record& now = history.current.records[index];
  const Record& before = history.previous.records[index];
  const uint64_t collectives = history.current.collectives + history.previous.collectives;
  const double share =
      static_cast<double>(now.last + before.last) / static_cast<double>(collectives);
  const double by_chance = 1.0 / static_cast<double>(history.key.ranks.size());
  return share >= std::min(0.75, std::max(0.2, 2 * by_chance)) &&
         now.waited_for + before.waited_for >= kLeastWait * collectives;
}

std::vector<Straggler> LatenessStats::Worst(size_t count) const {
  std::vector<Straggler> worst;
  for (const History& history : histories_) {
    const uint64_t collectives = history.current.collectives + history.previous.collectives;
    if (collectives < kFewestCollectives) continue;
    for (size_t i = 0; i < history.key.ranks.size(); ++i) {
      if (IsStraggler(history, i)) worst.push_back(Summarize(history, i));
    }
  }
  std::sort(worst.begin(), worst.end(),
            [](const Straggler& a, const Straggler& b) { return a.waited_for > b.waited_for; });
  if (worst.size() > count) worst.resize(count);
  return worst;
}

absl::Duration LatenessStats::Slowest(const std::string& group, const Operation& operation,
                                      const std::vector<uint32_t>& ranks) const {
  const auto known = by_key_.find(Key{NameOf(group, operation), ranks});
  if (known == by_key_.end()) return absl::InfiniteDuration();
  const Window& current = known->second->current;
  const Window& previous = known->second->previous;
  if (current.collectives + previous.collectives < kFewestKnown) return absl::InfiniteDuration();
  return std::max(current.slowest, previous.slowest);
}

}  // namespace muster::core
