#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_TRANSPORT_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_TRANSPORT_H_

#include <memory>

#include "client/src/control_plane/transport.h"
#include "common/caller_credentials.h"
#include "common/host_port.h"

namespace muster::internal {

// A transport over a gRPC channel of its own. Connects when it is first used. A call that was
// refused for its token goes out again where there is another one.
std::unique_ptr<Transport> MakeGrpcTransport(const HostPort& address,
                                             std::shared_ptr<CallerCredentials> credentials);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_TRANSPORT_H_
