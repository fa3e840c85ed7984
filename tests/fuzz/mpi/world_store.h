#ifndef MUSTER_TESTS_FUZZ_MPI_WORLD_STORE_H_
#define MUSTER_TESTS_FUZZ_MPI_WORLD_STORE_H_

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/byte_source.h"

namespace muster::fuzz {

// The keys of a world in the job's store, with their changes in order.
class WorldStore {
 public:
  struct Change {
    std::string key;
    std::optional<std::string> value;  // unset: it was deleted
  };

  void Set(const std::string& key, const std::string& value) {
    keys_[key] = value;
    changes_.push_back({key, value});
  }
  void Delete(const std::string& key) {
    if (keys_.erase(key) > 0) changes_.push_back({key, std::nullopt});
  }

  const std::map<std::string, std::string>& keys() const { return keys_; }
  const std::vector<Change>& changes() const { return changes_; }

 private:
  std::map<std::string, std::string> keys_;
  std::vector<Change> changes_;
};

// A client's watch of all keys. It begins with the keys that exist, in any order. Then come the
// changes in their order. An event may stand for several changes of its key, and may come again as
// long as the key is the same.
class WorldWatch {
 public:
  // Both pointers must outlive this object.
  WorldWatch(const WorldStore* store, ByteSource* bytes)
      : store_(store), next_(store->changes().size()) {
    for (const auto& [key, value] : store->keys()) {
      const WorldStore::Change change = {key, value};
      if (bytes->OneIn(2)) {
        first_.push_front(change);
      } else {
        first_.push_back(change);
      }
    }
  }

  bool behind() const { return !first_.empty() || next_ < store_->changes().size(); }

  // Returns the next event; nullopt if it was left out.
  std::optional<WorldStore::Change> Next(bool skips) {
    if (!first_.empty()) return TakeFirst(skips);
    const WorldStore::Change change = store_->changes()[next_++];
    if (skips && ChangesAgain(change.key)) return std::nullopt;
    return latest_ = change;
  }

  // Returns an event that has come before, if its key is still the same.
  std::optional<WorldStore::Change> Repeat() const {
    if (!latest_ || ChangesAgain(latest_->key)) return std::nullopt;
    return latest_;
  }

 private:
  std::optional<WorldStore::Change> TakeFirst(bool skips) {
    const WorldStore::Change change = first_.front();
    first_.pop_front();
    if (skips && ChangesAgain(change.key)) return std::nullopt;
    return change;
  }

  bool ChangesAgain(const std::string& key) const {
    for (size_t i = next_; i < store_->changes().size(); ++i) {
      if (store_->changes()[i].key == key) return true;
    }
    return false;
  }

  const WorldStore* store_;
  size_t next_;
  std::deque<WorldStore::Change> first_;
  std::optional<WorldStore::Change> latest_;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MPI_WORLD_STORE_H_
