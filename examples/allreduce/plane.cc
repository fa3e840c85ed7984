#include "examples/allreduce/plane.h"

namespace allreduce {

absl::StatusOr<std::unique_ptr<Plane>> MakePlane(const muster::Job& job,
                                                 const std::string& backend) {
  if (backend == "nccl" && HasDevicePlane()) return MakeDevicePlane(job);
  absl::StatusOr<std::unique_ptr<Plane>> plane = MakeHostPlane(job, backend);
  // What the SDK has chosen tells whether a GPU is usable; the ranks have agreed on it.
  if (!plane.ok() || (*plane)->backend() != "nccl" || !HasDevicePlane()) return plane;
  return MakeDevicePlane(job);
}

}  // namespace allreduce
