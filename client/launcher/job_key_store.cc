#include "client/launcher/job_key_store.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "client/src/control_plane/store_driver.h"

namespace muster::launcher {
namespace {

// The client's own time-out ends a wait earlier, by CANCEL_WAIT.
constexpr absl::Duration kLongWait = absl::Hours(24 * 365);

}  // namespace

JobKeyStore::~JobKeyStore() {
  watches_.clear();
  if (driver_ids_.empty()) return;
  const absl::StatusOr<internal::StoreDriver*> driver = client_->Connect();
  if (!driver.ok()) return;
  for (const auto& [id, driver_id] : driver_ids_) (*driver)->Cancel(driver_id);
}

void JobKeyStore::Begin(uint64_t id, v1::StoreOperation operation) {
  const absl::StatusOr<internal::StoreDriver*> driver = client_->Connect();
  if (!driver.ok()) return inbox_->Add(Ended{id, driver.status()});
  if (!operation.has_wait_timeout()) {
    operation.mutable_wait_timeout()->set_seconds(absl::ToInt64Seconds(kLongWait));
  }
  const uint64_t driver_id = (*driver)->Begin(
      std::move(operation), [inbox = inbox_, id](absl::StatusOr<v1::StoreAnswer> answer) {
        inbox->Add(Ended{id, std::move(answer)});
      });
  driver_ids_.emplace(id, driver_id);
}

void JobKeyStore::Cancel(uint64_t id) {
  const auto found = driver_ids_.find(id);
  if (found == driver_ids_.end()) return;
  const absl::StatusOr<internal::StoreDriver*> driver = client_->Connect();
  if (driver.ok()) (*driver)->Cancel(found->second);
}

std::vector<torch::KeyStore::Ended> JobKeyStore::TakeEnded() {
  inbox_->ready.Clear();
  std::vector<Ended> all;
  {
    const std::lock_guard<std::mutex> lock(inbox_->mutex);
    all = std::exchange(inbox_->ended, {});
  }
  for (const Ended& ended : all) driver_ids_.erase(ended.id);
  return all;
}

void JobKeyStore::Watch(const std::string& prefix) {
  if (watches_.count(prefix) > 0) return;
  const absl::StatusOr<internal::StoreDriver*> driver = client_->Connect();
  if (!driver.ok()) return inbox_->Add(Event{prefix, driver.status()});
  absl::StatusOr<Subscription> watch = (*driver)->Watch(
      prefix, [inbox = inbox_, prefix](const absl::StatusOr<v1::StoreWatchEvent>& event) {
        inbox->Add(Event{prefix, event});
      });
  if (!watch.ok()) return inbox_->Add(Event{prefix, watch.status()});
  watches_.emplace(prefix, *std::move(watch));
}

// A later watch of this prefix must not report what the ended one has seen.
void JobKeyStore::EndWatch(const std::string& prefix) {
  watches_.erase(prefix);
  const std::lock_guard<std::mutex> lock(inbox_->mutex);
  std::vector<Event>& events = inbox_->events;
  events.erase(std::remove_if(events.begin(), events.end(),
                              [&prefix](const Event& event) { return event.prefix == prefix; }),
               events.end());
}

std::vector<torch::WatchedKeyStore::Event> JobKeyStore::TakeEvents() {
  const std::lock_guard<std::mutex> lock(inbox_->mutex);
  return std::exchange(inbox_->events, {});
}

void JobKeyStore::Inbox::Add(Ended operation) {
  const std::lock_guard<std::mutex> lock(mutex);
  ended.push_back(std::move(operation));
  ready.Set();
}

void JobKeyStore::Inbox::Add(Event event) {
  const std::lock_guard<std::mutex> lock(mutex);
  events.push_back(std::move(event));
  ready.Set();
}

}  // namespace muster::launcher
