#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_STORE_TRANSPORT_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_STORE_TRANSPORT_H_

#include <memory>

#include "client/src/control_plane/store_transport.h"
#include "common/credentials/caller_credentials.h"
#include "common/names/host_port.h"

namespace muster::internal {

// Makes the transport of a client of the store over gRPC, on a connection of its own. Does not
// connect before the first stream.
std::unique_ptr<StoreTransport> MakeGrpcStoreTransport(
    const HostPort& address, std::shared_ptr<CallerCredentials> credentials);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_STORE_TRANSPORT_H_
