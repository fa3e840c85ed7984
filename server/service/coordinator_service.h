#ifndef MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_
#define MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_

#include "muster/v1/coordinator.grpc.pb.h"
#include "server/service/driver.h"
#include "server/service/host.h"
#include "server/service/unread_answers.h"

namespace muster::service {

// muster.v1.CoordinatorService over a driver: each rpc that the guard admits becomes a step of the
// core, or is answered beside it. Registers a handler for every row of common/rpcs.h, in place of
// the generated methods: its messages come and go as bytes, see raw_message.h.
class CoordinatorService final : public v1::CoordinatorService::Service {
 public:
  // Both must outlive the server that this is registered with.
  CoordinatorService(Driver* driver, CallGuard* guard);

  // See UnreadAnswers.
  uint64_t answers_let_go() const { return unread_.let_go(); }

 private:
  // Registers the handler of the rpc at that place of the service.
  template <typename Request>
  void Register(int method);

  UnreadAnswers unread_;
  const Host host_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_
