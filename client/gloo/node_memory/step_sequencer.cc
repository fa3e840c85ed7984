#include "client/gloo/node_memory/step_sequencer.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "client/gloo/endings/exception.h"
#include "client/gloo/node_memory/cache_line.h"
#include "client/src/node/futex.h"

namespace muster::internal {
namespace {

// The time after which a sleeping rank checks on its own, since the rank that should wake it may
// have died.
constexpr int64_t kSleepNanos = 20'000'000;

// The number of times that a rank checks before it sleeps, about 20 us in all. It spins only if
// each rank has its own processor, since otherwise the awaited rank may need this one.
// sched_yield() is no substitute: it may give the processor to another program for a whole time
// slice.
constexpr int kSpins = 600;

int Processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether a rank has ended, and whether it has left an end notice.
enum Ended : uint32_t { kNotEnded = 0, kEndedSilently = 1, kEndedWithNotice = 2 };

// Compares numbers that wrap.
bool AtLeast(uint32_t number, uint32_t wanted) {
  return static_cast<int32_t>(number - wanted) >= 0;
}

}  // namespace

// One rank's entry. Only that rank writes to it, except `sleepers`, the number of ranks that sleep
// until `published` changes.
struct alignas(kCacheLine) StepSequencer::RankEntry {
  std::atomic<uint32_t> published;  // number of published steps: the last step + 1; wraps
  std::atomic<uint32_t> sleepers;
  std::atomic<uint32_t> ended;         // an Ended
  std::atomic<uint32_t> opened;        // 1 once the rank has opened its sequencer
  std::atomic<uint64_t> tags[kSlots];  // the tags of the steps published with each slot
};

// A counter that the steps with the same number modulo kCounts share: how many times ranks have
// published one of them. Only the rank that publishes a step last wakes the sleepers.
struct alignas(kCacheLine) StepSequencer::Count {
  std::atomic<uint32_t> value;
  std::atomic<uint32_t> sleepers;
};

// Layout: counts, then entries, then end notices. A notice is read only after its rank's entry says
// so.
size_t StepSequencer::BytesFor(int ranks) {
  return kCounts * sizeof(Count) + ranks * (sizeof(RankEntry) + sizeof(EncodedEndNotice));
}

void StepSequencer::StartAt(uint32_t step, void* memory, int ranks) {
  auto* const counts = static_cast<Count*>(memory);
  for (int i = 0; i < kCounts; ++i) counts[i].value = ranks * (step / kCounts);
  auto* const entries = reinterpret_cast<RankEntry*>(counts + kCounts);
  for (int rank = 0; rank < ranks; ++rank) entries[rank].published = step;
}

StepSequencer::StepSequencer(void* memory, int rank, int ranks, Stopped stopped,
                             std::vector<int> group_ranks)
    : memory_(static_cast<char*>(memory)),
      rank_(rank),
      ranks_(ranks),
      stopped_(std::move(stopped)),
      group_ranks_(std::move(group_ranks)),
      oversubscribed_(ranks > Processors()),
      step_(entry(rank).published.load(std::memory_order_relaxed)),
      completed_step_(step_ - 1) {
  entry(rank_).opened.store(1, std::memory_order_release);
}

StepSequencer::~StepSequencer() {
  if (entry(rank_).ended.load(std::memory_order_relaxed) != kNotEnded) return;
  entry(rank_).ended.store(kEndedSilently, std::memory_order_seq_cst);
  Wake();
}

// Writes the notice first. A rank that dies in between has not ended here, so no rank reads half of
// it.
void StepSequencer::End(const EndNotice& notice) {
  this->notice(rank_) = EncodedEndNotice::From(notice);
  entry(rank_).ended.store(kEndedWithNotice, std::memory_order_seq_cst);
  Wake();
}

std::optional<EndNotice> StepSequencer::NoticeOf(int peer) const {
  if (entry(peer).ended.load(std::memory_order_acquire) != kEndedWithNotice) return std::nullopt;
  return notice(peer).Decode();
}

bool StepSequencer::HasOpened(int peer) const {
  return entry(peer).opened.load(std::memory_order_acquire) != 0;
}

StepSequencer::RankEntry& StepSequencer::entry(int rank) const {
  return reinterpret_cast<RankEntry*>(memory_ + kCounts * sizeof(Count))[rank];
}

EncodedEndNotice& StepSequencer::notice(int rank) const {
  return reinterpret_cast<EncodedEndNotice*>(&entry(ranks_))[rank];
}

StepSequencer::Count& StepSequencer::count(int64_t step) const {
  return reinterpret_cast<Count*>(memory_)[step % kCounts];
}

// Returns the value of the count when all ranks have published the step.
uint32_t StepSequencer::CountAfter(int64_t step) const {
  return static_cast<uint32_t>(ranks_ * (step / kCounts + 1));
}

bool StepSequencer::HasPublished(int peer, int64_t step) const {
  return AtLeast(entry(peer).published.load(std::memory_order_acquire),
                 static_cast<uint32_t>(step + 1));
}

bool StepSequencer::HasTag(int peer) const {
  return entry(peer).tags[slot_before()].load(std::memory_order_relaxed) == tag_;
}

std::vector<int> StepSequencer::LateRanks(int64_t step) const {
  std::vector<int> late;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (!HasPublished(peer, step)) late.push_back(peer);
  }
  return late;
}

std::vector<int> StepSequencer::GroupRanks(std::vector<int> ranks) const {
  for (int& rank : ranks) rank = GroupRank(rank);
  return ranks;
}

void StepSequencer::Publish() {
  RankEntry& own = entry(rank_);
  own.tags[slot()].store(tag_, std::memory_order_relaxed);
  // Here and in Wait(), both accesses are sequentially consistent. A rank that goes to sleep adds
  // itself to `sleepers` and reads the number again; this rank stores the number and then reads
  // `sleepers`. So at least one of them sees the other, and no wake-up is lost.
  own.published.store(static_cast<uint32_t>(step_ + 1), std::memory_order_seq_cst);
  if (own.sleepers.load(std::memory_order_seq_cst) != 0) SharedFutex::Wake(&own.published);
  Count& all = count(step_);
  const uint32_t value = all.value.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (value == CountAfter(step_) && all.sleepers.load(std::memory_order_seq_cst) != 0) {
    SharedFutex::Wake(&all.value);
  }
  ++step_;
}

void StepSequencer::AwaitAll(int64_t step) {
  if (step <= completed_step_) return;
  Count& all = count(step);
  const uint32_t target = CountAfter(step);
  Wait(
      &all.value, &all.sleepers,
      [&] { return AtLeast(all.value.load(std::memory_order_seq_cst), target); },
      [&] { return LateRanks(step); });
  completed_step_ = step;
}

void StepSequencer::AwaitPeers() {
  AwaitAll(step_ - 1);
  CheckTags(0, ranks_);
}

void StepSequencer::AwaitPeer(int peer) {
  RankEntry& peer_entry = entry(peer);
  const auto reached = [&] { return HasPublished(peer, step_ - 1); };
  Wait(&peer_entry.published, &peer_entry.sleepers, reached,
       [&] { return reached() ? std::vector<int>() : std::vector<int>{peer}; });
  CheckTags(peer, peer + 1);
}

// Blocks until this rank is stopped if some ranks have made another call: their steps never match
// again.
void StepSequencer::CheckTags(int first, int end) {
  std::vector<int> disagreeing;
  for (int peer = first; peer < end; ++peer) {
    if (!HasTag(peer)) disagreeing.push_back(peer);
  }
  if (disagreeing.empty()) return;
  RankEntry& own = entry(rank_);
  Wait(
      &own.published, &own.sleepers, [] { return false; }, [&] { return disagreeing; });
}

template <class Reached>
bool StepSequencer::Spin(Reached reached) const {
  for (int spins_left = oversubscribed_ ? 0 : kSpins; spins_left > 0; --spins_left) {
    if (reached()) return true;
    CpuRelax();
  }
  return reached();
}

template <class Error>
void StepSequencer::Throw(const Error& error) {
  if (before_throw_) before_throw_(error);
  throw error;
}

// Throws if the wait must end. `late` returns the ranks that the wait is still for. It is called
// after `ended` was read, because a rank that has ended has published all that it ever will.
template <class Late>
void StepSequencer::CheckStopped(bool slept, Late late) {
  if (stopped_(slept)) Throw(Interrupted(GroupRanks(late())));
  for (int peer = 0; peer < ranks_; ++peer) {
    if (entry(peer).ended.load(std::memory_order_seq_cst) == kNotEnded) continue;
    const std::vector<int> ranks = late();
    if (std::find(ranks.begin(), ranks.end(), peer) != ranks.end())
      Throw(PeerEnded(GroupRank(peer)));
  }
}

template <class Reached, class Late>
void StepSequencer::Wait(std::atomic<uint32_t>* word, std::atomic<uint32_t>* sleepers,
                         Reached reached, Late late) {
  if (Spin(reached)) return;
  bool slept = false;
  while (!reached()) {
    CheckStopped(slept, late);
    sleepers->fetch_add(1, std::memory_order_seq_cst);
    const uint32_t seen = word->load(std::memory_order_seq_cst);
    if (!reached()) SharedFutex::Wait(word, seen, kSleepNanos);
    sleepers->fetch_sub(1, std::memory_order_seq_cst);
    slept = true;
  }
}

void StepSequencer::Wake() {
  for (int i = 0; i < kCounts; ++i) SharedFutex::Wake(&count(i).value);
  for (int rank = 0; rank < ranks_; ++rank) SharedFutex::Wake(&entry(rank).published);
}

}  // namespace muster::internal
