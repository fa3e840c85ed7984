#ifndef MUSTER_CLIENT_NCCL_FREE_H_
#define MUSTER_CLIENT_NCCL_FREE_H_

#include <functional>

#include "absl/strings/string_view.h"

namespace muster::internal {

// Runs `free`, which frees what is on a device, with that device current. CUDA waits in it for all
// that the device has to do, other communicators' kernels and the program's included, so it has a
// thread of its own: returns when that is through, or after NcclHandle::kStopWait, with a warning
// that names `what`. Then it is freed when the device is idle. Where the process gets no thread it
// returns at once, with a warning, and the thread of the next call frees this too.
void FreeOnDevice(int device, absl::string_view what, std::function<void()> free);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_FREE_H_
