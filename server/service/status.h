#ifndef MUSTER_SERVER_SERVICE_STATUS_H_
#define MUSTER_SERVER_SERVICE_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace muster::service {

// The same code and text. A text that would not fit into HTTP/2 metadata, where peers would drop
// the whole answer for it, is cut and ends with "...".
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_STATUS_H_
