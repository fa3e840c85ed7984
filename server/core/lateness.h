#ifndef MUSTER_SERVER_CORE_LATENESS_H_
#define MUSTER_SERVER_CORE_LATENESS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "server/core/counters.h"
#include "server/core/requests.h"
#include "server/core/vocabulary.h"

// Who is late, and how late that is. Every completed collective counts: the median of its arrivals
// is when it should have completed, and the last arrival is whom all the others have waited for.
namespace muster::core {

// How many durations there were of each length, to half an octave.
class DurationHistogram {
 public:
  void Add(absl::Duration duration) { ++counts_[BucketOf(duration)]; }
  void Add(const DurationHistogram& other);
  uint64_t count() const;
  // The length that this share of all (0 to 1) do not exceed; zero where there is none. At most a
  // fifth off.
  absl::Duration Quantile(double share) const;

 private:
  // Below a tenth of a millisecond; then by factors of the square root of 2, up to two minutes.
  static constexpr size_t kBuckets = 42;
  static size_t BucketOf(absl::Duration duration);

  std::array<uint32_t, kBuckets> counts_{};
};

// A rank that others wait for.
struct Straggler {
  uint32_t rank = 0;
  std::string node_id = {};  // where it was asked for
  std::string operation;     // "Barrier('step #') of the world": digits of labels count as one
  uint64_t collectives = 0;  // of the window
  uint64_t last = 0;         // of them: where it came last
  absl::Duration median;     // how long after the median arrival it comes
  absl::Duration p95;
  absl::Duration waited_for;  // by the others, where it came last: after the median arrival
};

// "was last in 83% of 4000 Barrier('step #') of the world, 120ms behind the others (p95 310ms);
// they waited 38s for it".
std::string DescribeLateness(const Straggler& straggler);

// A group in words, and by name, which is empty for the world.
struct GroupWords {
  const std::string& description;
  const std::string& name;
};

// When the ranks of a collective came.
struct Arrivals {
  std::vector<Time> times;  // of each rank, its first
  size_t last = 0;          // index of the one that has completed it
  Time completed;
};

// What the arrivals of one epoch tell. An arrival costs the same however many ranks and operations
// there are, and memory is bounded: of many operations those that are not called any more are
// forgotten. Looks at the latest 1024 to 2048 collectives of each operation.
class LatenessBook {
 public:
  // Counts what completes in `tally`, too, which must outlive it.
  explicit LatenessBook(Tally* tally) : tally_(tally) {}

  // A collective of those ranks (of the world) has completed. Their arrivals are in the same order.
  void Note(const GroupWords& group, const Operation& operation, const std::vector<uint32_t>& ranks,
            const Arrivals& arrivals);

  // Those whom the others have waited for the longest, that first; `count` at most. Only who is
  // last clearly more often than by chance, in ten collectives or more.
  std::vector<Straggler> Worst(size_t count) const;

  // The longest that such a collective has taken, from the first arrival to its end. Infinite while
  // too few are known.
  absl::Duration Slowest(const std::string& group, const Operation& operation,
                         const std::vector<uint32_t>& ranks) const;

 private:
  struct Record {
    DurationHistogram lateness;
    uint32_t last = 0;
    absl::Duration waited_for;
  };
  // What some of one operation's collectives were like.
  struct Window {
    std::vector<Record> records;  // by index in the group
    absl::Duration slowest;       // from the first arrival to the end
    uint64_t collectives = 0;
  };
  // Members choose the words of names, which tell of some ranks only where there are many.
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
    WaitHistogram* waits = nullptr;  // of all that are called alike, in any epoch
    Window current;
    Window previous;
  };

  static std::string NameOf(const std::string& group, const Operation& operation);
  static Straggler Summarize(const History& history, size_t index);
  static bool Stands(const History& history, size_t index);
  // Makes it the first.
  History& Find(const GroupWords& group, const Operation& operation,
                const std::vector<uint32_t>& ranks);
  void MakeRoom();

  Tally* const tally_;
  std::list<History> histories_;  // the latest used first
  // What that one was found by, beside its ranks: mostly it is asked for again, and finding its
  // name costs as much as all the rest.
  std::string latest_group_;
  Operation latest_operation_;
  absl::flat_hash_map<Key, std::list<History>::iterator> by_key_;
  size_t records_ = 0;  // in all histories
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_LATENESS_H_
