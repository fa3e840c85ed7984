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
  std::vector<Ended> all;
  for (auto& arrived : inbox_->Take()) {
    if (auto* ended = std::get_if<Ended>(&arrived)) {
      driver_ids_.erase(ended->id);
      all.push_back(std::move(*ended));
      continue;
    }
    Watched& watched = std::get<Watched>(arrived);
    const auto latest = numbers_.find(watched.event.prefix);
    // A later watch of this prefix must not report what an ended one has seen.
    if (latest == numbers_.end() || latest->second != watched.watch) continue;
    events_.push_back(std::move(watched.event));
  }
  return all;
}

void JobKeyStore::Watch(const std::string& prefix) {
  if (watches_.count(prefix) > 0) return;
  const uint64_t number = numbers_[prefix] = ++last_watch_;
  const absl::StatusOr<internal::StoreDriver*> driver = client_->Connect();
  if (!driver.ok()) return inbox_->Add(Watched{number, {prefix, driver.status()}});
  absl::StatusOr<Subscription> watch = (*driver)->Watch(
      prefix, [inbox = inbox_, number, prefix](const absl::StatusOr<v1::StoreWatchEvent>& event) {
        inbox->Add(Watched{number, {prefix, event}});
      });
  if (!watch.ok()) return inbox_->Add(Watched{number, {prefix, watch.status()}});
  watches_.emplace(prefix, *std::move(watch));
}

void JobKeyStore::EndWatch(const std::string& prefix) {
  watches_.erase(prefix);
  numbers_.erase(prefix);
  events_.erase(std::remove_if(events_.begin(), events_.end(),
                               [&prefix](const Event& event) { return event.prefix == prefix; }),
                events_.end());
}

std::vector<torch::WatchedKeyStore::Event> JobKeyStore::TakeEvents() {
  return std::exchange(events_, {});
}

}  // namespace muster::launcher
