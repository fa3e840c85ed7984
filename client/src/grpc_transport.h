#ifndef MUSTER_CLIENT_SRC_GRPC_TRANSPORT_H_
#define MUSTER_CLIENT_SRC_GRPC_TRANSPORT_H_

#include <memory>

#include "client/src/address.h"
#include "client/src/transport.h"

namespace muster::internal {

// A transport over a gRPC channel of its own. Connects when it is first used.
std::unique_ptr<Transport> MakeGrpcTransport(const Address& address);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_GRPC_TRANSPORT_H_
