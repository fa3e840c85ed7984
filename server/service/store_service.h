#ifndef MUSTER_SERVER_SERVICE_STORE_SERVICE_H_
#define MUSTER_SERVER_SERVICE_STORE_SERVICE_H_

#include "muster/v1/store.grpc.pb.h"
#include "server/service/credentials/call_guard.h"
#include "server/service/driver/coordinator_driver.h"

namespace muster::service {

// The muster.v1.StoreService of one driver. Each message of a stream that the guard admits becomes
// a step of the core. Messages travel as bytes (raw_message.h).
class StoreService final : public v1::StoreService::Service {
 public:
  // Both arguments must outlive the server that this service is registered with.
  StoreService(CoordinatorDriver* driver, CallGuard* guard);
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_STORE_SERVICE_H_
