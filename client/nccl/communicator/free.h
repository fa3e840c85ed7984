#ifndef MUSTER_CLIENT_NCCL_COMMUNICATOR_FREE_H_
#define MUSTER_CLIENT_NCCL_COMMUNICATOR_FREE_H_

#include <functional>

#include "absl/strings/string_view.h"

namespace muster::internal {

// Runs `free`, which frees resources of a device, on another thread with that device current. CUDA
// then waits for all work of the device, including kernels of other communicators and of the
// program.
//
// Returns when `free` has returned, or after NcclHandle::kStopWait with a warning that names
// `what`; the resources are then freed when the device is idle. If the process cannot start a
// thread, logs a warning and returns at once; the thread of the next call runs this `free` too.
void FreeOnDevice(int device, absl::string_view what, std::function<void()> free);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_COMMUNICATOR_FREE_H_
