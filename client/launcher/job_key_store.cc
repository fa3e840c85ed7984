#include "client/launcher/job_key_store.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/launcher/plan/node_name.h"
#include "client/src/base/backoff.h"
#include "client/src/control_plane/grpc/grpc_store_transport.h"
#include "client/src/control_plane/store_driver.h"
#include "common/credentials/caller_credentials.h"
#include "common/credentials/process_secret.h"

namespace muster::launcher {
namespace {

// The client's own time-out ends a wait earlier, by CANCEL_WAIT.
constexpr absl::Duration kLongWait = absl::Hours(24 * 365);
// As long as the SDK's calls wait for a coordinator that is away, unless the program says
// otherwise.
constexpr absl::Duration kCoordinatorTimeout = absl::Minutes(10);

internal::StoreClientOptions OptionsOf(const JobPlan& plan) {
  internal::StoreClientOptions options;
  options.coordinator = plan.coordinator.ToString();
  options.job_id = plan.job;
  options.identity.secret = NewProcessSecret();
  options.identity.incarnation = IncarnationOf(options.identity.secret);
  options.identity.node_id = NodeNameOf(plan);
  options.identity.pid = getpid();
  options.launcher = true;
  options.coordinator_timeout = kCoordinatorTimeout;
  options.random = internal::RandomFromDevice();
  return options;
}

}  // namespace

JobKeyStore::~JobKeyStore() {
  watches_.clear();
  driver_.reset();
}

absl::Status JobKeyStore::Connect() {
  if (driver_ != nullptr) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<CallerCredentials>> credentials =
      CallerCredentials::Load(plan_.credentials);
  if (!credentials.ok()) return credentials.status();
  absl::StatusOr<std::shared_ptr<internal::StoreDriver>> driver = internal::StoreDriver::Start(
      OptionsOf(plan_), internal::MakeGrpcStoreTransport(plan_.coordinator, *credentials));
  if (!driver.ok()) return driver.status();
  driver_ = *std::move(driver);
  return absl::OkStatus();
}

void JobKeyStore::Begin(uint64_t id, v1::StoreOperation operation) {
  if (absl::Status connected = Connect(); !connected.ok()) {
    return Add(Ended{id, std::move(connected)});
  }
  if (!operation.has_wait_timeout()) {
    operation.mutable_wait_timeout()->set_seconds(absl::ToInt64Seconds(kLongWait));
  }
  const uint64_t driver_id =
      driver_->Begin(std::move(operation), [this, id](absl::StatusOr<v1::StoreAnswer> answer) {
        Add(Ended{id, std::move(answer)});
      });
  driver_ids_.emplace(id, driver_id);
}

void JobKeyStore::Cancel(uint64_t id) {
  const auto found = driver_ids_.find(id);
  if (found != driver_ids_.end()) driver_->Cancel(found->second);
}

std::vector<torch::KeyStore::Ended> JobKeyStore::TakeEnded() {
  ready_.Clear();
  std::vector<Ended> all;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    all = std::exchange(ended_, {});
  }
  for (const Ended& ended : all) driver_ids_.erase(ended.id);
  return all;
}

void JobKeyStore::Watch(const std::string& prefix) {
  if (watches_.count(prefix) > 0) return;
  if (absl::Status connected = Connect(); !connected.ok()) return Add(Event{prefix, connected});
  absl::StatusOr<Subscription> watch =
      driver_->Watch(prefix, [this, prefix](const absl::StatusOr<v1::StoreWatchEvent>& event) {
        Add(Event{prefix, event});
      });
  if (!watch.ok()) return Add(Event{prefix, watch.status()});
  watches_.emplace(prefix, *std::move(watch));
}

// A later watch of this prefix must not report what the ended one has seen.
void JobKeyStore::EndWatch(const std::string& prefix) {
  watches_.erase(prefix);
  const std::lock_guard<std::mutex> lock(mutex_);
  events_.erase(std::remove_if(events_.begin(), events_.end(),
                               [&prefix](const Event& event) { return event.prefix == prefix; }),
                events_.end());
}

std::vector<torch::WatchedKeyStore::Event> JobKeyStore::TakeEvents() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(events_, {});
}

void JobKeyStore::Add(Event event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  events_.push_back(std::move(event));
  ready_.Set();
}

void JobKeyStore::Add(Ended ended) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_.push_back(std::move(ended));
  ready_.Set();
}

}  // namespace muster::launcher
