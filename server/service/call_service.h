#ifndef MUSTER_SERVER_SERVICE_CALL_SERVICE_H_
#define MUSTER_SERVER_SERVICE_CALL_SERVICE_H_

#include "muster/v1/calls.grpc.pb.h"
#include "server/service/reactor_dependencies.h"

namespace muster::service {

// The muster.v1.CallService of one driver: calls of CoordinatorService that share a stream.
// Messages travel as bytes (raw_message.h).
class CallService final : public v1::CallService::Service {
 public:
  explicit CallService(const ReactorDependencies& dependencies);
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CALL_SERVICE_H_
