// Stands in for device_plane.cc where there is no NCCL to link.
#include "examples/allreduce/plane.h"

namespace allreduce {

bool HasDevicePlane() { return false; }

absl::StatusOr<std::unique_ptr<Plane>> MakeDevicePlane(const muster::Job&) {
  return absl::UnimplementedError("this program was built without NCCL");
}

}  // namespace allreduce
