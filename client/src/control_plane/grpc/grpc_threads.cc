#include "client/src/control_plane/grpc/grpc_threads.h"

#include <grpc/grpc.h>

#include "common/process/start_thread.h"

namespace muster::internal {
namespace {

// gRPC 1.51 begins with a thread for timers and one for each of two executors.
constexpr int kThreads = 3;

}  // namespace

absl::Status CheckGrpcThreads() {
  if (grpc_is_initialized() != 0) return absl::OkStatus();
  return CheckThreads("run gRPC", kThreads);
}

}  // namespace muster::internal
