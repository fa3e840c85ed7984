#ifndef MUSTER_SERVER_CORE_STATISTICS_LATENESS_H_
#define MUSTER_SERVER_CORE_STATISTICS_LATENESS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "server/core/api/basic_types.h"
#include "server/core/api/job_status.h"
#include "server/core/api/requests.h"
#include "server/core/statistics/counters.h"

// The lateness of ranks: which ranks are late, and by how much. Every completed collective counts.
// The median of its arrivals is when it should have completed, and all other ranks have waited for
// its last arrival.
namespace muster::core {

// A histogram of durations, with two buckets an octave.
class DurationHistogram {
 public:
  void Add(absl::Duration duration) { ++counts_[BucketOf(duration)]; }
  void Add(const DurationHistogram& other);
  uint64_t count() const;
  // Returns the duration that this share of all (0 to 1) does not exceed, or zero if there are
  // none. The error is at most a fifth.
  absl::Duration Quantile(double share) const;

 private:
  // The first bucket ends at a tenth of a millisecond. The bounds then grow by the square root of
  // 2, up to two minutes.
  static constexpr size_t kBuckets = 42;
  static size_t BucketOf(absl::Duration duration);

  std::array<uint32_t, kBuckets> counts_{};
};

// Returns text such as "was last in 83% of 4000 Barrier('step #') of the world, 120ms behind the
// others (p95 310ms); they waited 38s for it".
std::string DescribeLateness(const Straggler& straggler);

// A group's description, and its name, which is empty for the world.
struct GroupLabels {
  const std::string& description;
  const std::string& name;
};

// The arrival times of one collective's ranks.
struct Arrivals {
  std::vector<Time> times;  // the first arrival of each rank
  size_t last = 0;          // index of the rank that has completed it
  Time completed;
};

// The lateness of ranks in one epoch. An arrival costs the same however many ranks and operations
// there are. The memory is bounded: if there are many operations, the least recently used ones are
// forgotten. Looks at the latest 1024 to 2048 collectives of each operation.
class LatenessStats {
 public:
  // Also counts completed collectives in `tally`, which must outlive this object.
  explicit LatenessStats(Tally* tally) : tally_(tally) {}

  // Notes a completed collective of these ranks of the world. `arrivals` are in the same order.
  void Note(const GroupLabels& group, const Operation& operation,
            const std::vector<uint32_t>& ranks, const Arrivals& arrivals);

  // Returns at most `count` ranks that the others have waited for, the worst first. Considers only
  // operations of ten collectives or more, and ranks that are last clearly more often than by
  // chance.
  std::vector<Straggler> Worst(size_t count) const;

  // Returns the longest time that such a collective has taken, from the first arrival to its end.
  // Returns InfiniteDuration while too few are known.
  absl::Duration Slowest(const std::string& group, const Operation& operation,
                         const std::vector<uint32_t>& ranks) const;

 private:
  struct Record {
    DurationHistogram lateness;
    uint32_t last = 0;
    absl::Duration waited_for;
  };
  // The statistics of one operation over at most 1024 of its collectives.
  struct Window {
    std::vector<Record> records;  // by index in the group
    absl::Duration slowest;       // from the first arrival to the end
    uint64_t collectives = 0;
  };
  // The key contains the ranks, because members choose the names, and a group's description lists
  // only a part of many ranks.
  struct Key {
    std::string name;
    std::vector<uint32_t> ranks;

    bool operator==(const Key& other) const { return name == other.name && ranks == other.ranks; }
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.name, key.ranks);
    }
  };
  struct History {
    Key key;
    WaitHistogram* waits = nullptr;  // of all collectives that are called alike, in any epoch
    Window current;
    Window previous;
  };

  static std::string NameOf(const std::string& group, const Operation& operation);
  static Straggler Summarize(const History& history, size_t index);
  static bool IsStraggler(const History& history, size_t index);
  // Finds or makes the history, and moves it to the front.
  History& Find(const GroupLabels& group, const Operation& operation,
                const std::vector<uint32_t>& ranks);
  void MakeRoom();

  Tally* const tally_;
  std::list<History> histories_;  // the most recently used first
  // The group and operation that the front was found by. Mostly the same one is asked for again,
  // and making its name would cost as much as all the rest.
  std::string latest_group_;
  Operation latest_operation_;
  absl::flat_hash_map<Key, std::list<History>::iterator> by_key_;
  size_t records_ = 0;  // in all histories
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_STATISTICS_LATENESS_H_
