#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_LOCAL_STORE_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_LOCAL_STORE_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "client/src/control_plane/local_entries.h"
#include "client/src/control_plane/store_plane.h"
#include "client/src/control_plane/watch_notifier.h"

namespace muster::internal {

// The store of a job without a coordinator: one process has all keys. Results and errors are those
// of the daemon, but there are no limits. The threads of the process are its clients. Test:
// tests/client/control_plane/local_store_test.cc.
class LocalStore final : public StorePlane, public std::enable_shared_from_this<LocalStore> {
 public:
  explicit LocalStore(std::string job_id) : job_id_(std::move(job_id)) {}

  absl::StatusOr<v1::StoreAnswer> Call(v1::StoreOperation operation,
                                       const CallOptions& options) override;
  absl::StatusOr<Subscription> Watch(const std::string& prefix, WatchCallback callback) override;
  void Close(const absl::Status& why) override;

 private:
  using Lock = std::unique_lock<std::mutex>;

  // Runs the operation as far as possible, and tells other threads and watches of changes. Under
  // the lock.
  std::optional<absl::StatusOr<v1::StoreAnswer>> Advance(LocalEntries::Call* call);
  void NotifyWatches(const std::string& key);
  void EndWatch(uint64_t watch);

  const std::string job_id_;

  std::mutex mutex_;  // guards all fields below
  std::condition_variable changed_;
  LocalEntries entries_;
  uint64_t next_number_ = 1;                 // of calls and watches
  std::map<uint64_t, std::string> watches_;  // prefixes
  std::unique_ptr<WatchNotifier> notifier_;  // null before the first watch
  absl::Status closed_;                      // an error after Close()
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_LOCAL_STORE_H_
