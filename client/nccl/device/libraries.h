#ifndef MUSTER_CLIENT_NCCL_DEVICE_LIBRARIES_H_
#define MUSTER_CLIENT_NCCL_DEVICE_LIBRARIES_H_

#include "absl/status/status.h"

// The CUDA runtime and NCCL may be linked, or loaded at run time: see client/nccl/loaded.
namespace muster::internal {

// Registers the function that loads the libraries, from a static initializer of client/nccl/loaded.
// Returns true.
bool RegisterLibraryLoader(absl::Status (*load)());

// Loads the libraries, unless they are linked. FAILED_PRECONDITION: says what is missing, and how
// to get it. Call it before any function of CUDA or NCCL.
absl::Status LoadLibraries();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_DEVICE_LIBRARIES_H_
