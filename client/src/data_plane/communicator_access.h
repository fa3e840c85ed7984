#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_COMMUNICATOR_ACCESS_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_COMMUNICATOR_ACCESS_H_

#include <optional>

#include "client/src/data_plane/backend.h"
#include "client/src/data_plane/operation_runner.h"
#include "muster/communicator.h"

namespace muster::internal {

// Access for the SDK's helpers to what Communicator keeps private: operations on elements whose
// type is known at run time, and a way to end it.
struct CommunicatorAccess {
  // Returns UNIMPLEMENTED if the backend cannot move this type, or cannot reduce it if `op` is set.
  static absl::Status CheckSupport(const Communicator& communicator, DataType type,
                                   std::optional<ReduceOp> op) {
    return communicator.runner_->CheckSupport(type, op);
  }
  static absl::Status AllReduce(Communicator& communicator, const Buffer& buffer, DataType type,
                                ReduceOp op, const CallOptions& options) {
    return communicator.RawAllReduce({buffer.data, buffer.count, buffer.data, buffer.count, type},
                                     op, options);
  }
  static absl::Status AllReduceCoalesced(Communicator& communicator,
                                         absl::Span<const Buffer> buffers, DataType type,
                                         ReduceOp op, const CallOptions& options) {
    return communicator.RawAllReduceCoalesced(buffers, type, op, options);
  }
  // `count` is the number of elements of one rank.
  static absl::Status AllGather(Communicator& communicator, const void* in, void* out, size_t count,
                                DataType type, const CallOptions& options) {
    return communicator.RawAllGather({in, count, out, count * communicator.size(), type}, options);
  }
  // Copies between two places of this process's memory that the communicator can reach.
  static absl::Status Copy(Communicator& communicator, const void* from, void* to, size_t bytes,
                           const CallOptions& options) {
    return communicator.runner_->Copy(from, to, bytes, options);
  }
  // Ends the call in progress and all later ones with `why`. Any thread may call this.
  static void Fail(Communicator& communicator, const absl::Status& why) {
    communicator.runner_->Fail(why);
  }
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_COMMUNICATOR_ACCESS_H_
