#include "examples/allreduce/plane.h"

namespace allreduce {

absl::StatusOr<std::unique_ptr<Plane>> MakePlane(const muster::Job& job,
                                                 const std::string& backend) {
  if (backend == "nccl" && HasDevicePlane()) return MakeDevicePlane(job);
  absl::StatusOr<std::unique_ptr<Plane>> plane = MakeHostPlane(job, backend);
  // The SDK's choice, on which the ranks have agreed, tells whether a GPU is usable.
  if (!plane.ok() || (*plane)->backend() != "nccl" || !HasDevicePlane()) return plane;
  return MakeDevicePlane(job);
}

}  // namespace allreduce
