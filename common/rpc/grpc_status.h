#ifndef MUSTER_COMMON_RPC_GRPC_STATUS_H_
#define MUSTER_COMMON_RPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace muster {

inline absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace muster

#endif  // MUSTER_COMMON_RPC_GRPC_STATUS_H_
