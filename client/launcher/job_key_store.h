#ifndef MUSTER_CLIENT_LAUNCHER_JOB_KEY_STORE_H_
#define MUSTER_CLIENT_LAUNCHER_JOB_KEY_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/launcher/plan/job_plan.h"
#include "client/launcher/process/event_fd.h"
#include "client/launcher/torch/watched_key_store.h"
#include "muster/group.h"

namespace muster::internal {
class StoreDriver;
}

namespace muster::launcher {

// The job's store in musterd (docs/store.md), of which this launcher is a client. Has one stream to
// the coordinator, which begins with the first operation and survives the coordinator's restarts.
class JobKeyStore : public torch::WatchedKeyStore {
 public:
  explicit JobKeyStore(const JobPlan& plan) : plan_(plan) {}
  // Leaves the store, so that the coordinator does not wait for this client. Blocks for at most a
  // second.
  ~JobKeyStore() override;
  JobKeyStore(const JobKeyStore&) = delete;
  JobKeyStore& operator=(const JobKeyStore&) = delete;

  void Begin(uint64_t id, v1::StoreOperation operation) override;
  void Cancel(uint64_t id) override;
  std::vector<Ended> TakeEnded() override;
  int fd() const override { return ready_.fd(); }
  void Watch(const std::string& prefix) override;
  void EndWatch(const std::string& prefix) override;
  std::vector<Event> TakeEvents() override;

 private:
  // Starts the driver, if it has not been started.
  absl::Status Connect();
  void Add(Ended ended);
  void Add(Event event);

  const JobPlan& plan_;
  std::shared_ptr<internal::StoreDriver> driver_;  // null before the first operation
  std::map<uint64_t, uint64_t> driver_ids_;        // of operations in progress, by their id here
  std::map<std::string, Subscription> watches_;    // by prefix
  EventFd ready_;
  std::mutex mutex_;
  std::vector<Ended> ended_;   // guarded by mutex_
  std::vector<Event> events_;  // guarded by mutex_
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_JOB_KEY_STORE_H_
