#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_THREADS_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_THREADS_H_

#include "absl/status/status.h"

namespace muster::internal {

// Returns RESOURCE_EXHAUSTED if the process cannot start the threads with which gRPC begins. Call
// it before anything of gRPC is created, which begins gRPC. Does nothing if gRPC is in use.
//
// gRPC ignores that it gets no thread. Without its timer's thread, no time-out of gRPC ever passes,
// and grpc_shutdown() waits for that thread for ever. This check is no reservation: another thread
// or process may take the threads in between, and gRPC starts more later. Test:
// tests/client/daemon/first_join_test.cc.
absl::Status CheckGrpcThreads();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_THREADS_H_
