#ifndef MUSTER_CLIENT_NCCL_LOADED_MACHINE_LIBRARIES_H_
#define MUSTER_CLIENT_NCCL_LOADED_MACHINE_LIBRARIES_H_

#include "absl/status/status.h"
#include "client/nccl/loaded/loaded_library.h"

// The machine's CUDA runtime and NCCL, for a libmuster.so that runs on machines with and without
// them. cuda_functions.cc and nccl_functions.cc define the functions of both libraries that
// client/nccl calls, as calls of the loaded ones. So the rest of client/nccl is the same whether
// the libraries are linked or loaded.
namespace muster::internal {

// Returns the CUDA runtime, of CUDA 12 or 13.
LoadedLibrary& CudaRuntime();

// Returns NCCL.
LoadedLibrary& NcclLibrary();

// Loads both libraries, in the version that the process has already loaded if it has. After an
// error a later call tries again. FAILED_PRECONDITION: a library is missing, too old or incomplete;
// says which, and how to get it.
absl::Status LoadMachineLibraries();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_LOADED_MACHINE_LIBRARIES_H_
