#include "tests/nccl/cuda/driver/entry_points.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/stream/kernel.h"

namespace fake_cuda::driver {
namespace {

// Copies the arguments out of {BUFFER_POINTER, bytes, BUFFER_SIZE, size, END}, in any order.
std::vector<char> ArgumentsOf(void** parameters, void** extra) {
  if (parameters != nullptr || extra == nullptr) {
    Violation("a kernel's arguments are given one by one: only a buffer has a known size");
  }
  const char* bytes = nullptr;
  size_t size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) bytes = static_cast<const char*>(extra[1]);
    if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<const size_t*>(extra[1]);
  }
  return std::vector<char>(bytes, bytes + size);
}

// Applies a launch attribute. Clusters, priorities and memory domains only change a kernel's speed,
// and are ignored.
void Apply(const CUlaunchAttribute& attribute, KernelLaunch* launch) {
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
      return;
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
      launch->begun = attribute.value.launchCompletionEvent.event;
      return;
    default:
      Violation("a kernel is launched with attribute %d, which is not modelled",
                static_cast<int>(attribute.id));
  }
}

CUresult Submit(KernelLaunch launch) {
  if (CurrentContext() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult error = State(); error != CUDA_SUCCESS) return error;
  return static_cast<CUresult>(fake_cuda::LaunchKernel(std::move(launch)));
}

}  // namespace

CUresult LaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                        void** extra) {
  KernelLaunch launch = {function,
                         {config->gridDimX, config->gridDimY, config->gridDimZ},
                         {config->blockDimX, config->blockDimY, config->blockDimZ},
                         ArgumentsOf(parameters, extra),
                         config->hStream};
  for (unsigned i = 0; i < config->numAttrs; ++i) Apply(config->attrs[i], &launch);
  return Submit(std::move(launch));
}

CUresult LaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                      unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                      unsigned int block_z, unsigned int, CUstream stream, void** parameters,
                      void** extra) {
  return Submit({function,
                 {grid_x, grid_y, grid_z},
                 {block_x, block_y, block_z},
                 ArgumentsOf(parameters, extra),
                 stream});
}

}  // namespace fake_cuda::driver
