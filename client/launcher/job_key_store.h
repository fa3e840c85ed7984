#ifndef MUSTER_CLIENT_LAUNCHER_JOB_KEY_STORE_H_
#define MUSTER_CLIENT_LAUNCHER_JOB_KEY_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "client/launcher/job_store_client.h"
#include "client/launcher/process/event_queue.h"
#include "client/launcher/torch/watched_key_store.h"
#include "muster/group.h"

namespace muster::launcher {

// The job's store in musterd (docs/store.md), of which this launcher is a client. The first
// operation or watch connects the client.
class JobKeyStore : public torch::WatchedKeyStore {
 public:
  // `client` must outlive this object.
  explicit JobKeyStore(JobStoreClient* client) : client_(client) {}
  // Gives up the operations in progress.
  ~JobKeyStore() override;
  JobKeyStore(const JobKeyStore&) = delete;
  JobKeyStore& operator=(const JobKeyStore&) = delete;

  void Begin(uint64_t id, v1::StoreOperation operation) override;
  void Cancel(uint64_t id) override;
  std::vector<Ended> TakeEnded() override;
  int fd() const override { return inbox_->fd(); }
  void Watch(const std::string& prefix) override;
  void EndWatch(const std::string& prefix) override;
  std::vector<Event> TakeEvents() override;

 private:
  // An event of a watch, which has this number.
  struct Watched {
    uint64_t watch;
    Event event;
  };
  using Inbox = EventQueue<std::variant<Ended, Watched>>;

  JobStoreClient* const client_;
  std::map<uint64_t, uint64_t> driver_ids_;      // of operations in progress, by their id here
  std::map<std::string, Subscription> watches_;  // by prefix
  std::map<std::string, uint64_t> numbers_;      // of the latest watch, by prefix
  uint64_t last_watch_ = 0;
  std::vector<Event> events_;  // taken from the inbox
  // Answers and events from the store. The driver's callbacks share it, and may outlive this
  // object.
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_JOB_KEY_STORE_H_
