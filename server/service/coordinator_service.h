#ifndef MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_
#define MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_

#include "muster/v1/coordinator.grpc.pb.h"
#include "server/service/answers/unread_answer_limiter.h"
#include "server/service/driver/coordinator_driver.h"
#include "server/service/reactor_dependencies.h"

namespace muster::service {

// The muster.v1.CoordinatorService of one driver. Each call that the guard admits becomes a step of
// the core, or is answered beside it (GetStatus, inquiries). Registers a handler for every row of
// common/rpc/rpcs.h instead of the generated methods, because messages travel as bytes
// (raw_message.h).
class CoordinatorService final : public v1::CoordinatorService::Service {
 public:
  // Both arguments must outlive the server that this service is registered with.
  CoordinatorService(CoordinatorDriver* driver, CallGuard* guard);

  // Returns what the reactors of calls use.
  const ReactorDependencies& dependencies() const { return dependencies_; }
  // Returns the number of answers that were dropped unread; see UnreadAnswerLimiter.
  uint64_t answers_dropped() const { return unread_.dropped(); }

 private:
  // Registers the handler of one rpc. `method` is its index in the generated service.
  template <typename Request>
  void Register(int method);

  UnreadAnswerLimiter unread_;
  const ReactorDependencies dependencies_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_
