#ifndef MUSTER_STORE_H_
#define MUSTER_STORE_H_

#include "muster/cxx17.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/call_options.h"
#include "muster/group.h"

// Keys and values that all processes of a job share:
//
//   muster::Store store = job.store();
//   if (job.is_main()) {
//     absl::Status set = store.Set("port", "7001");
//     if (!set.ok()) return set;
//   }
//   absl::StatusOr<std::string> port = store.Get("port");  // waits for the key
//   if (!port.ok()) return port.status();
//   absl::StatusOr<int64_t> ticket = store.Add("tickets", 1);
namespace muster {

namespace internal {
class ControlPlane;
}  // namespace internal

// A change below a watched prefix. It may stand for several changes of its key.
struct StoreEvent {
  // The key's content now, or that it was deleted.
  enum class Kind { kValue, kQueue, kBarrier, kDeleted };

  std::string key;           // the key that has changed
  Kind kind = Kind::kValue;  // what it holds
  std::string value;         // of kValue
  uint64_t count = 0;        // the elements of a queue, or the arrivals in a barrier's latest round
};

// The outcome of Store::CompareAndSet().
struct StoreComparison {
  bool changed = false;              // the key had the expected value, and has the new one
  std::optional<std::string> value;  // what the key has now; nullopt: it does not exist
};

// The job's key-value store. Keys, values and elements are any bytes. A key holds a value, the
// elements of a queue, or the arrivals at a barrier. Keys belong to the job, not to an epoch: they
// stay when members are lost, and end with the job. The coordinator keeps them, so they should be
// small (musterd --max-store-value-bytes, --max-store-keys).
//
// A handle, cheap to copy. Copies and handles of other threads are equal. Thread-safe. The first
// call opens a connection to the coordinator. A program that makes no call has none.
//
// All calls block until the coordinator has answered. The coordinator may be killed and restarted
// at any time: each call is applied exactly once, and calls wait until it is back. No answered
// change is lost unless the coordinator and the process that keeps the key die together
// (docs/store.md).
//
// CallOptions::timeout limits how long a call waits for keys, elements or arrivals. A call that may
// have changed something does not return before the coordinator says whether it has. So after the
// time-out or a Cancel(), Pop() may still return an element. While the coordinator is away, such a
// call goes on for up to JobOptions::coordinator_timeout.
//
// Errors of all calls:
//   INVALID_ARGUMENT     a key is empty or too long;
//   FAILED_PRECONDITION  the key holds something else; or the coordinator has no store; or this
//                        process has left, or is a fork of the process that joined;
//   RESOURCE_EXHAUSTED   a value is too large, or the store is full. The error names the flag of
//                        musterd; nothing has changed. Or this process cannot start a thread;
//   DEADLINE_EXCEEDED    the time-out has passed; the error names what was missing. Nothing has
//                        changed, but an arrival at a barrier counts;
//   UNAVAILABLE          the coordinator could not be reached for JobOptions::coordinator_timeout.
//                        A change may or may not have been made;
//   ABORTED              this process counts as lost;
//   CANCELLED            `options.cancellation` was cancelled, or the Job was destroyed.
class Store {
 public:
  // Gives the key this value.
  absl::Status Set(absl::string_view key, absl::string_view value,
                   const CallOptions& options = {}) const;

  // Returns the value of the key. Blocks until it has one.
  absl::StatusOr<std::string> Get(absl::string_view key, const CallOptions& options = {}) const;

  // Blocks until all keys exist at the same time. At most 65536 keys, and 1 MiB of them.
  absl::Status Wait(const std::vector<std::string>& keys, const CallOptions& options = {}) const;

  // Adds to the value, which is a decimal number, and returns the sum. A key that does not exist
  // counts as 0.
  //   INVALID_ARGUMENT  the value is no number of 64 bits;
  //   OUT_OF_RANGE      the sum does not fit into 64 bits.
  absl::StatusOr<int64_t> Add(absl::string_view key, int64_t amount,
                              const CallOptions& options = {}) const;

  // Gives the key the value `desired` if it has the value `expected`, or if it does not exist and
  // `expected` is nullopt. Returns what the key has afterwards.
  absl::StatusOr<StoreComparison> CompareAndSet(absl::string_view key,
                                                std::optional<absl::string_view> expected,
                                                absl::string_view desired,
                                                const CallOptions& options = {}) const;

  // Appends to the value, and returns its length in bytes. A key that does not exist counts as
  // empty.
  absl::StatusOr<int64_t> Append(absl::string_view key, absl::string_view value,
                                 const CallOptions& options = {}) const;

  // Deletes the key with its value, queue or barrier. Returns whether it existed.
  absl::StatusOr<bool> Delete(absl::string_view key, const CallOptions& options = {}) const;

  // Returns the keys that begin with the prefix, in the order of their bytes. If there are more
  // than about 1 MiB of them, they are read in several steps, between which keys may change.
  absl::StatusOr<std::vector<std::string>> List(absl::string_view prefix = "",
                                                const CallOptions& options = {}) const;
  // Returns the number of these keys.
  absl::StatusOr<int64_t> Count(absl::string_view prefix = "",
                                const CallOptions& options = {}) const;

  // Appends an element to the queue, and returns the queue's length. A key that does not exist
  // counts as an empty queue.
  absl::StatusOr<int64_t> Push(absl::string_view key, absl::string_view element,
                               const CallOptions& options = {}) const;
  // Removes the first element of the queue, and returns it. Blocks until there is one. Each element
  // goes to one caller. Callers that wait get elements in the order in which they came.
  absl::StatusOr<std::string> Pop(absl::string_view key, const CallOptions& options = {}) const;
  // Returns the number of elements of the queue.
  absl::StatusOr<int64_t> Length(absl::string_view key, const CallOptions& options = {}) const;

  // Arrives at the barrier, and blocks until `count` arrivals have come since the last round was
  // complete. Returns the arrival's place in its round, from 1. Any threads of any processes may
  // arrive. An arrival counts for good, also if this call times out: do not repeat it then.
  //   FAILED_PRECONDITION  also: other arrivals of the round named another count, or the key was
  //                        deleted.
  absl::StatusOr<int64_t> Barrier(absl::string_view key, int64_t count,
                                  const CallOptions& options = {}) const;

  // Calls `callback` for each existing key that begins with the prefix, and then after each change
  // of such a key, until the subscription ends. An error is the last call: ABORTED, CANCELLED when
  // the Job has left or is destroyed, or an error of the prefix. Calls it from a thread of the SDK
  // that serves all watches of the job. It may call the store. Does not block.
  [[nodiscard]] absl::StatusOr<Subscription> Watch(
      absl::string_view prefix,
      std::function<void(const absl::StatusOr<StoreEvent>& event)> callback) const;

  // Not for programs; see Job::store().
  explicit Store(std::shared_ptr<internal::ControlPlane> control);

 private:
  std::shared_ptr<internal::ControlPlane> control_;
};

}  // namespace muster

#endif  // MUSTER_STORE_H_
