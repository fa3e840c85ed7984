#include "tests/nccl/cuda/runtime/stream/order.h"

#include <algorithm>
#include <mutex>

namespace fake_cuda {
namespace {

struct Host {
  std::mutex mutex;
  VectorClock clock;
};

Host& HostState() {
  static auto* const kHost = new Host();
  return *kHost;
}

struct Record {
  Access access;
  uint64_t stream = 0;
  uint64_t work = 0;
};

struct Records {
  std::mutex mutex;
  std::vector<Record> all;  // without work whose end the host has seen
};

Records& AllRecords() {
  static auto* const kRecords = new Records();
  return *kRecords;
}

const char* BeginOf(const Access& access) { return static_cast<const char*>(access.pointer); }
const char* EndOf(const Access& access) { return BeginOf(access) + access.bytes; }

bool Overlap(const Access& a, const Access& b) {
  return BeginOf(a) < EndOf(b) && BeginOf(b) < EndOf(a);
}

void CheckAccess(const Access& access, const Record& other, const VectorClock& clock) {
  const bool conflict = (access.writes || other.access.writes) && Overlap(access, other.access);
  const bool in_order = access.owner != nullptr && access.owner == other.access.owner;
  if (!conflict || in_order || clock.Covers(other.stream, other.work)) return;
  Violation(
      "%s %s memory that %s on another stream %s, and nothing orders the one behind the other",
      access.what, access.writes ? "writes" : "reads", other.access.what,
      other.access.writes ? "writes" : "reads");
}

}  // namespace

void VectorClock::Add(uint64_t stream, uint64_t work) {
  uint64_t& reached = reached_[stream];
  reached = std::max(reached, work);
}

void VectorClock::Add(const VectorClock& other) {
  for (const auto& [stream, work] : other.reached_) Add(stream, work);
}

bool VectorClock::Covers(uint64_t stream, uint64_t work) const {
  const auto it = reached_.find(stream);
  return it != reached_.end() && it->second >= work;
}

void AdvanceHostClock(const VectorClock& clock) {
  const std::lock_guard<std::mutex> lock(HostState().mutex);
  HostState().clock.Add(clock);
}

VectorClock HostClock() {
  const std::lock_guard<std::mutex> lock(HostState().mutex);
  return HostState().clock;
}

void CheckOrder(const std::vector<Access>& accesses, uint64_t stream, uint64_t work,
                const VectorClock& clock) {
  if (accesses.empty()) return;
  const VectorClock seen = HostClock();
  const std::lock_guard<std::mutex> lock(AllRecords().mutex);
  std::vector<Record>& all = AllRecords().all;
  const auto is_over = [&](const Record& one) { return seen.Covers(one.stream, one.work); };
  all.erase(std::remove_if(all.begin(), all.end(), is_over), all.end());
  for (const Access& access : accesses) {
    for (const Record& other : all) CheckAccess(access, other, clock);
  }
  for (const Access& access : accesses) all.push_back({access, stream, work});
}

}  // namespace fake_cuda
