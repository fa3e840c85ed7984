#ifndef MUSTER_SERVER_SERVICE_GUARDED_SERVICES_H_
#define MUSTER_SERVER_SERVICE_GUARDED_SERVICES_H_

#include <memory>
#include <vector>

#include "grpcpp/support/server_interceptor.h"
#include "server/service/credentials/call_guard.h"

namespace muster::service {

// Returns interceptors that put the guard before the services that gRPC itself offers, such as
// server reflection. grpc.health.v1 stays open to all callers. The daemon's own
// services are left out, because they ask the guard themselves. `guard` must outlive the server.
std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
GuardOtherServices(CallGuard* guard);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_GUARDED_SERVICES_H_
