#ifndef MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_
#define MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_

#include "muster/v1/coordinator.grpc.pb.h"
#include "server/service/answers/unread_answers.h"
#include "server/service/driver/driver.h"
#include "server/service/host.h"

namespace muster::service {

// The muster.v1.CoordinatorService of one driver. Each call that the guard admits becomes a step of
// the core, or is answered beside it (GetStatus, inquiries). Registers a handler for every row of
// common/rpcs.h instead of the generated methods, because messages travel as bytes (raw_message.h).
class CoordinatorService final : public v1::CoordinatorService::Service {
 public:
  // Both arguments must outlive the server that this service is registered with.
  CoordinatorService(Driver* driver, CallGuard* guard);

  // Returns the number of answers that were dropped unread; see UnreadAnswers.
  uint64_t answers_let_go() const { return unread_.let_go(); }

 private:
  // Registers the handler of one rpc. `method` is its index in the generated service.
  template <typename Request>
  void Register(int method);

  UnreadAnswers unread_;
  const Host host_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_
