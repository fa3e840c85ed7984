#ifndef MUSTER_SERVER_CORE_COUNTERS_H_
#define MUSTER_SERVER_CORE_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/core/requests.h"

// What has happened since the coordinator was started, in numbers that only grow. Counting costs
// the same whatever was counted before, allocates nothing, and what is kept is bounded.
namespace muster::core {

inline constexpr size_t kCollectiveKinds = 4;  // of CollectiveKind

// Why a member was lost.
enum class LossCause {
  kExited,        // its process has ended by itself
  kSignaled,      // by a signal
  kCutOff,        // its connection has ended, and it did not come back in time
  kStopped,       // the same, of a process that was stopped (SIGSTOP)
  kReplaced,      // by a newer process that asks for its place
  kLeftEarly,     // it left without waiting for the others any longer
  kNotRejoined,   // it survived a loss, and did not call Rejoin in time
  kNotRecovered,  // it did not come back to a coordinator that was restarted
};
inline constexpr size_t kLossCauses = 8;

// What a call that has timed out waited in.
enum class WaitKind { kPlace, kCollective, kLease, kLeave, kRecovery };
inline constexpr size_t kWaitKinds = 5;

// How many waits there were of which length.
class WaitHistogram {
 public:
  // In seconds: a wait is in the first bucket whose bound it does not exceed, or in one beyond.
  static constexpr std::array<double, 17> kBounds = {
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};

  void Add(absl::Duration wait);

  const std::array<uint64_t, kBounds.size() + 1>& counts() const { return counts_; }
  double sum() const { return sum_; }  // of all, in seconds
  uint64_t count() const { return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0}); }

 private:
  std::array<uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

// Of collectives that are called alike: how long the first rank waited for the last.
struct CollectiveWaits {
  std::optional<CollectiveKind> kind;
  std::string group;  // its name, empty for the world; digits count as one: "tp-#"
  std::string label;  // likewise
  WaitHistogram waits;
};

// Collectives by how they are called: the first ways to call them, and one for all others.
class CollectiveWaitsTable {
 public:
  static constexpr size_t kMost = 64;

  CollectiveWaitsTable() = default;
  CollectiveWaitsTable(const CollectiveWaitsTable&) = delete;
  CollectiveWaitsTable& operator=(const CollectiveWaitsTable&) = delete;

  // Where waits of such a collective are counted: stays valid. Costs a search: keep it.
  WaitHistogram* Find(CollectiveKind kind, absl::string_view group, absl::string_view label);

  // One of no kind last, for all others, where there are any.
  std::vector<CollectiveWaits> All() const;

 private:
  using Key = std::tuple<CollectiveKind, std::string, std::string>;

  std::map<Key, WaitHistogram> by_key_;  // whose elements stay where they are
  WaitHistogram other_;
};

struct Counters {
  std::array<uint64_t, kCollectiveKinds> arrivals{};
  std::array<uint64_t, kCollectiveKinds> completed{};
  std::array<uint64_t, kLossCauses> losses{};
  std::array<uint64_t, kWaitKinds> timeouts{};
  uint64_t epochs_formed = 0;
  uint64_t epochs_broken = 0;
  uint64_t reattached = 0;  // members that were known
  uint64_t stall_warnings = 0;
  WaitHistogram lease_waits;  // until a lease was granted, or its work done by another
};

struct Tally {
  Counters counters;
  CollectiveWaitsTable collective_waits;
};

// Adds one to those of this kind.
template <typename Kind, size_t kKinds>
void Count(Kind kind, std::array<uint64_t, kKinds>* counts) {
  ++(*counts)[static_cast<size_t>(kind)];
}

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COUNTERS_H_
