// What this process has of NCCL and CUDA, for the coordinator, which compares it with what others
// have.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "client/nccl/nccl_types.h"
#include "client/src/environment/fingerprint.h"

namespace muster::internal {
namespace {

// "12.8" for 12080; empty for 0, which says that there is none.
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

// Neither this nor the others begin to use a GPU.
std::string CudaDriverVersion() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? CudaVersionText(version) : "";
}

const bool kRegistered = RegisterFact("NCCL", NcclVersion) && RegisterFact("CUDA", CudaVersion) &&
                         RegisterFact("CUDA driver", CudaDriverVersion);

}  // namespace
}  // namespace muster::internal
