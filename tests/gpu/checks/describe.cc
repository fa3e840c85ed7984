#include <cuda_runtime_api.h>
#include <nccl.h>

#include <fstream>
#include <iostream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "tests/gpu/checks/gpu_checks.h"
#include "tests/gpu/checks/gpu_device.h"

namespace muster::gpu {
namespace {

std::string CudaVersion(int version) {
  return absl::StrFormat("%d.%d", version / 1000, version % 1000 / 10);
}

std::string NcclVersion(int version) {
  return absl::StrFormat("%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

// Returns the file from which this process has loaded the library `name`.
std::string LoadedFrom(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    if (absl::StrContains(line, "/" + name)) return line.substr(line.find('/'));
  }
  return "this program";
}

}  // namespace

std::string BuiltWithNccl() { return NcclVersion(NCCL_VERSION_CODE); }

absl::Status DescribeMachine() {
  int devices = 0;
  int driver = 0;
  int runtime = 0;
  int nccl = 0;
  RETURN_IF_ERROR(CudaStatus(cudaGetDeviceCount(&devices), "cudaGetDeviceCount"));
  cudaDeviceProp gpu;
  RETURN_IF_ERROR(CudaStatus(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties"));
  RETURN_IF_ERROR(CudaStatus(cudaDriverGetVersion(&driver), "cudaDriverGetVersion"));
  RETURN_IF_ERROR(CudaStatus(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion"));
  RETURN_IF_ERROR(NcclStatus(ncclGetVersion(&nccl), "ncclGetVersion"));
  std::cout << absl::StrFormat("GPU 0 of %d: %s, %d MiB, compute capability %d.%d\n", devices,
                               gpu.name, gpu.totalGlobalMem >> 20, gpu.major, gpu.minor)
            << "driver for CUDA " << CudaVersion(driver) << "\n"
            << "CUDA runtime " << CudaVersion(runtime) << " from " << LoadedFrom("libcudart.so")
            << "\n"
            << "NCCL " << NcclVersion(nccl) << " from " << LoadedFrom("libnccl.so")
            << "; built with " << BuiltWithNccl() << std::endl;
  return absl::OkStatus();
}

}  // namespace muster::gpu
