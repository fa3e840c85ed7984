#ifndef MUSTER_SERVER_SERVICE_STATUS_H_
#define MUSTER_SERVER_SERVICE_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace muster::service {

// Returns the same code and text. Cuts a text that would not fit into HTTP/2 metadata, and ends it
// with "...", since peers would drop the whole answer otherwise.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_STATUS_H_
