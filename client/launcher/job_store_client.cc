#include "client/launcher/job_store_client.h"

#include <unistd.h>

#include <utility>

#include "absl/time/time.h"
#include "client/launcher/plan/node_name.h"
#include "client/src/base/backoff.h"
#include "client/src/control_plane/grpc/grpc_store_transport.h"
#include "client/src/control_plane/store_driver.h"
#include "common/credentials/caller_credentials.h"
#include "common/credentials/process_secret.h"

namespace muster::launcher {
namespace {

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

JobStoreClient::~JobStoreClient() { Close(); }

absl::StatusOr<internal::StoreDriver*> JobStoreClient::Connect() {
  if (driver_ != nullptr) return driver_.get();
  absl::StatusOr<std::shared_ptr<CallerCredentials>> credentials =
      CallerCredentials::Load(plan_.credentials);
  if (!credentials.ok()) return credentials.status();
  internal::StoreClientOptions options = OptionsOf(plan_);
  incarnation_ = options.identity.incarnation;
  absl::StatusOr<std::shared_ptr<internal::StoreDriver>> driver = internal::StoreDriver::Start(
      std::move(options), internal::MakeGrpcStoreTransport(plan_.coordinator, *credentials));
  if (!driver.ok()) return driver.status();
  driver_ = *std::move(driver);
  return driver_.get();
}

void JobStoreClient::Close() { driver_.reset(); }

}  // namespace muster::launcher
