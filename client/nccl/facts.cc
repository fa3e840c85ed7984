// The versions of NCCL and CUDA in this process. The coordinator compares them with other ranks'
// versions.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "client/nccl/device/nccl_types.h"
#include "client/src/environment/process_fingerprint.h"

namespace muster::internal {
namespace {

// Returns "12.8" for 12080, and an empty text for 0, which means that there is none.
std::string CudaVersionText(int version) {
  return version == 0 ? "" : absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

std::string NcclVersion() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? NcclVersionText(version) : "";
}

std::string CudaVersion() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == cudaSuccess ? CudaVersionText(version) : "";
}

// Returns the driver's version. Like the functions above, does not open a GPU.
std::string CudaDriverVersion() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? CudaVersionText(version) : "";
}

const bool kRegistered = RegisterFact("NCCL", NcclVersion) && RegisterFact("CUDA", CudaVersion) &&
                         RegisterFact("CUDA driver", CudaDriverVersion);

}  // namespace
}  // namespace muster::internal
