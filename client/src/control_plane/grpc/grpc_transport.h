#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_TRANSPORT_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_TRANSPORT_H_

#include <memory>

#include "client/src/control_plane/transport.h"
#include "common/credentials/caller_credentials.h"
#include "common/names/host_port.h"

namespace muster::internal {

// Returns a Transport over a gRPC channel of its own, which connects when it is first used. If the
// daemon rejects a call only for its token, and there is another token, the transport sends the
// call again.
std::unique_ptr<Transport> MakeGrpcTransport(const HostPort& address,
                                             std::shared_ptr<CallerCredentials> credentials);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_TRANSPORT_H_
