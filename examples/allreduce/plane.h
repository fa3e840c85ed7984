#ifndef MUSTER_EXAMPLES_ALLREDUCE_PLANE_H_
#define MUSTER_EXAMPLES_ALLREDUCE_PLANE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/allreduce/work.h"
#include "muster/job.h"

namespace allreduce {

// What moves the data, and where that lies.
class Plane {
 public:
  virtual ~Plane() = default;

  // "gloo", and where the buffers are.
  virtual std::string backend() const = 0;
  virtual std::string memory() const = 0;

  // Makes the buffers of one operation; `input` goes into the one that is sent.
  virtual absl::Status Prepare(const Work& work, const std::string& input) = 0;

  // Does the operation `times` times and waits for the last.
  virtual absl::Status Run(int times) = 0;

  // What the last operation has brought.
  virtual absl::StatusOr<std::string> Output() = 0;
};

// On device memory with NCCL, if this program is linked with it and it is asked for or chosen; else
// on host memory. Empty `backend`: the SDK chooses. A collective of the job.
absl::StatusOr<std::unique_ptr<Plane>> MakePlane(const muster::Job& job,
                                                 const std::string& backend);

// The two of them: through muster::Communicator, and through muster::NcclCommunicator on a stream
// of our own.
absl::StatusOr<std::unique_ptr<Plane>> MakeHostPlane(const muster::Job& job,
                                                     const std::string& backend);
absl::StatusOr<std::unique_ptr<Plane>> MakeDevicePlane(const muster::Job& job);

// Whether there is a MakeDevicePlane() that can succeed.
bool HasDevicePlane();

}  // namespace allreduce

#endif  // MUSTER_EXAMPLES_ALLREDUCE_PLANE_H_
