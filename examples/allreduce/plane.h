#ifndef MUSTER_EXAMPLES_ALLREDUCE_PLANE_H_
#define MUSTER_EXAMPLES_ALLREDUCE_PLANE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/allreduce/work.h"
#include "muster/job.h"

namespace allreduce {

// A data plane: the means to run an operation, with its buffers in host or device memory.
class Plane {
 public:
  virtual ~Plane() = default;

  // Return "gloo" or "nccl", and the place of the buffers.
  virtual std::string backend() const = 0;
  virtual std::string memory() const = 0;

  // Makes the buffers of one operation. `input` is the content of the buffer that is sent.
  virtual absl::Status Prepare(const Work& work, const std::string& input) = 0;

  // Runs the operation `times` times and waits for the last one.
  virtual absl::Status Run(int times) = 0;

  // Returns the result of the last operation.
  virtual absl::StatusOr<std::string> Output() = 0;
};

// Makes a plane on device memory with NCCL, if the program is linked with it and `backend` or the
// SDK chooses it, else one on host memory. If `backend` is empty, the SDK chooses. A collective of
// the job.
absl::StatusOr<std::unique_ptr<Plane>> MakePlane(const muster::Job& job,
                                                 const std::string& backend);

// Make the two kinds of planes: through muster::Communicator, and through muster::NcclCommunicator
// on a stream of this program.
absl::StatusOr<std::unique_ptr<Plane>> MakeHostPlane(const muster::Job& job,
                                                     const std::string& backend);
absl::StatusOr<std::unique_ptr<Plane>> MakeDevicePlane(const muster::Job& job);

// Returns whether MakeDevicePlane() can succeed in this program.
bool HasDevicePlane();

}  // namespace allreduce

#endif  // MUSTER_EXAMPLES_ALLREDUCE_PLANE_H_
