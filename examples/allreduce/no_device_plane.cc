// Replaces device_plane.cc in programs that are built without NCCL.
#include "examples/allreduce/plane.h"

namespace allreduce {

bool HasDevicePlane() { return false; }

absl::StatusOr<std::unique_ptr<Plane>> MakeDevicePlane(const muster::Job&) {
  return absl::UnimplementedError("this program was built without NCCL");
}

}  // namespace allreduce
