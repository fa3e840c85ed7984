#ifndef MUSTER_SERVER_CORE_STATISTICS_COUNTERS_H_
#define MUSTER_SERVER_CORE_STATISTICS_COUNTERS_H_

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
#include "server/core/api/requests.h"

// Counters of what has happened since the coordinator was started. Their numbers only grow.
// Counting takes constant time and allocates nothing, and the memory is bounded.
namespace muster::core {

inline constexpr size_t kCollectiveKinds = 4;  // values of CollectiveKind

// The cause of a member's loss.
enum class LossCause {
  kExited,        // its process has ended on its own
  kSignaled,      // a signal has ended its process
  kCutOff,        // its connection has ended, and it did not come back in time
  kStopped,       // the same, while its process was stopped (SIGSTOP)
  kReplaced,      // a newer process has asked for its place
  kLeftEarly,     // its Leave timed out before the others had called it
  kNotRejoined,   // it survived a loss, and did not call Rejoin in time
  kNotRecovered,  // it did not come back to a restarted coordinator
};
inline constexpr size_t kLossCauses = 8;

// The kind of wait in which a call has timed out.
enum class WaitKind { kPlace, kCollective, kLease, kLeave, kRecovery };
inline constexpr size_t kWaitKinds = 5;

// A histogram of the lengths of waits.
class WaitHistogram {
 public:
  // The buckets' upper bounds in seconds. A wait is in the first bucket whose bound it does not
  // exceed, or in one more bucket beyond the last bound.
  static constexpr std::array<double, 17> kBounds = {
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};

  void Add(absl::Duration wait);

  const std::array<uint64_t, kBounds.size() + 1>& counts() const { return counts_; }
  double sum() const { return sum_; }  // of all waits, in seconds
  uint64_t count() const { return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0}); }

 private:
  std::array<uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

// The waits of collectives that are called alike: how long the first rank waited for the last.
struct CollectiveWaits {
  std::optional<CollectiveKind> kind;
  std::string group;  // the group's name, empty for the world; each number is replaced: "tp-#"
  std::string label;  // the label, with numbers replaced in the same way
  WaitHistogram waits;
};

// A table of waits by the way that collectives are called. It keeps the first kMost ways, and one
// entry for all others.
class CollectiveWaitsTable {
 public:
  static constexpr size_t kMost = 64;

  CollectiveWaitsTable() = default;
  CollectiveWaitsTable(const CollectiveWaitsTable&) = delete;
  CollectiveWaitsTable& operator=(const CollectiveWaitsTable&) = delete;

  // Returns the histogram for such a collective. The pointer stays valid. Callers keep it, because
  // the look-up is a search.
  WaitHistogram* Find(CollectiveKind kind, absl::string_view group, absl::string_view label);

  // Returns all entries. The last one, which has no kind, is for all others, and is there only if
  // it counts any.
  std::vector<CollectiveWaits> All() const;

 private:
  using Key = std::tuple<CollectiveKind, std::string, std::string>;

  std::map<Key, WaitHistogram> by_key_;  // a std::map, because Find() returns pointers into it
  WaitHistogram other_;
};

struct Counters {
  std::array<uint64_t, kCollectiveKinds> arrivals{};
  std::array<uint64_t, kCollectiveKinds> completed{};
  std::array<uint64_t, kLossCauses> losses{};
  std::array<uint64_t, kWaitKinds> timeouts{};
  uint64_t epochs_formed = 0;
  uint64_t epochs_broken = 0;
  uint64_t reattached = 0;  // by members that were known
  uint64_t stall_warnings = 0;
  WaitHistogram lease_waits;  // until a lease was granted, or another member completed its work
};

struct Tally {
  Counters counters;
  CollectiveWaitsTable collective_waits;
};

// Adds one to the count of this kind.
template <typename Kind, size_t kKinds>
void Count(Kind kind, std::array<uint64_t, kKinds>* counts) {
  ++(*counts)[static_cast<size_t>(kind)];
}

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_STATISTICS_COUNTERS_H_
