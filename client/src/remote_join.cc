#include "client/src/remote_join.h"

namespace muster::internal {

absl::StatusOr<std::unique_ptr<ControlPlane>> JoinRemote(const JobOptions& options,
                                                         Cancellation* cancellation) {
  return absl::UnimplementedError("joining through a coordinator comes with the next commit");
}

}  // namespace muster::internal
