#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_LOCAL_ENTRIES_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_LOCAL_ENTRIES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/v1/store.pb.h"

namespace muster::internal {

// The keys of a store in one process, and what each operation does to them. The results and errors
// are those of the daemon (server/core/store). Pure: no threads, no clock. Not thread-safe.
class LocalEntries {
 public:
  // The arrivals at a barrier. Threads that wait share it, because the key may be deleted.
  struct Arrivals {
    uint64_t count = 0;  // of a round
    uint64_t arrived = 0;
    uint64_t complete_at = 0;  // `arrived` at which the latest round is complete
    bool deleted = false;
  };

  // An operation in progress.
  struct Call {
    v1::StoreOperation operation;
    uint64_t number = 0;  // by age
    // Of a barrier that has arrived: its arrivals, its place in its round, and `arrived` at which
    // the round is complete.
    std::shared_ptr<const Arrivals> arrivals;
    int64_t place = 0;
    uint64_t complete_at = 0;
  };

  // Runs the operation, as far as possible. Returns nullopt if it has to wait: run it again after
  // the next change. A pop that waits must end with Forget().
  std::optional<absl::StatusOr<v1::StoreAnswer>> Run(Call* call);
  // Notes that an operation does not wait any more.
  void Forget(const Call& call);
  // Returns what an operation that waits is missing: "key 'a' has not been set".
  std::string DescribeMissing(const Call& call) const;

  // Returns the state of a key, as a watch reports it.
  v1::StoreWatchEvent EventOf(const std::string& key) const;
  // Returns the existing keys with this prefix.
  std::vector<std::string> List(const std::string& prefix) const;
  // Returns the key that the last Run() has changed, or nullopt.
  const std::optional<std::string>& changed() const { return changed_; }

 private:
  using Queue = std::deque<std::string>;
  using Content = std::variant<std::string, Queue, std::shared_ptr<Arrivals>>;
  struct Entry {
    Content content;
    uint64_t revision = 0;
  };
  using Result = absl::StatusOr<v1::StoreAnswer>;

  // Returns the content of the key, null if it does not exist, or an error if it is of another
  // kind.
  template <class Kind>
  absl::StatusOr<Kind*> Find(const std::string& key);
  // Gives the key this content. Returns the answer to the change.
  v1::StoreAnswer Change(const std::string& key, Content content);
  // Notes that the content of the key has changed. Returns the answer to the change.
  v1::StoreAnswer NoteChange(const std::string& key);

  Result Set(const v1::StoreSet& set);
  std::optional<Result> Get(const v1::StoreGet& get);
  std::optional<Result> Wait(const v1::StoreWait& wait) const;
  Result Add(const v1::StoreAdd& add);
  Result CompareAndSet(const v1::StoreCompareAndSet& change);
  Result Append(const v1::StoreAppend& append);
  Result Delete(const v1::StoreDelete& deletion);
  Result List(const v1::StoreList& list) const;
  Result Push(const v1::StorePush& push);
  std::optional<Result> Pop(const Call& call);
  Result QueueLength(const v1::StoreQueueLength& length);
  std::optional<Result> Barrier(Call* call);
  absl::Status Arrive(Call* call);

  std::map<std::string, Entry> entries_;
  std::map<std::string, std::deque<uint64_t>> pops_;  // that wait, by queue and age
  uint64_t revision_ = 0;
  std::optional<std::string> changed_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_LOCAL_ENTRIES_H_
