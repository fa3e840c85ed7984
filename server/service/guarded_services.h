#ifndef MUSTER_SERVER_SERVICE_GUARDED_SERVICES_H_
#define MUSTER_SERVER_SERVICE_GUARDED_SERVICES_H_

#include <memory>
#include <vector>

#include "grpcpp/support/server_interceptor.h"
#include "server/service/call_guard.h"

namespace muster::service {

// Puts the guard before what gRPC serves beside the coordinator's service, which asks the guard
// itself: whatever is not grpc.health.v1 is refused to who may not call, server reflection too.
// `guard` must outlive the server.
std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
GuardOtherServices(CallGuard* guard);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_GUARDED_SERVICES_H_
