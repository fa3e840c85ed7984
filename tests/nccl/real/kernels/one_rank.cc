// Reductions of a communicator of one rank. NCCL's host code calls this instead of a collective.

#include <cuda_runtime_api.h>

#include <cstring>

#include "checks.h"
#include "cudawrap.h"
#include "device.h"
#include "tests/nccl/real/kernels/kernel_memory.h"
#include "tests/nccl/real/kernels/kernel_reduction.h"

namespace cpu_nccl {
namespace {

struct Scaling {
  char* to;
  const char* from;
  size_t count;
  Function function;
  uint64_t argument;
  bool argument_is_pointer;
};

uint64_t ArgumentOf(const Memory& memory, const Scaling& scaling) {
  if (!scaling.argument_is_pointer) return scaling.argument;
  const size_t bytes = Reduction::ArgumentBytes(scaling.function);
  const auto* const device = reinterpret_cast<const char*>(scaling.argument);
  uint64_t argument = 0;
  std::memcpy(&argument, memory.Reach(device, bytes, "an operation's scalar"), bytes);
  return argument;
}

void RunScaling(const CpuLaunch* launch) {
  const Memory memory(*launch);
  const auto& scaling = *static_cast<const Scaling*>(launch->arguments);
  const Reduction reduction(scaling.function, ArgumentOf(memory, scaling));
  const size_t bytes = scaling.count * reduction.element_bytes();
  Operands operands;
  operands.to = memory.Reach(scaling.to, bytes, "a user's buffer");
  operands.first = memory.Reach(scaling.from, bytes, "a user's buffer");
  operands.count = scaling.count;
  operands.first_is_input = true;
  operands.last = true;
  reduction.Run(operands);
}

ncclResult_t Launch(Scaling scaling, cudaStream_t stream) {
  size_t bytes = sizeof scaling;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &scaling, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  CUfunction kernel;
  CUDACHECK(cudaGetFuncBySymbol(&kernel, reinterpret_cast<const void*>(RunScaling)));
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  CUCHECK(cuLaunchKernelEx(&config, kernel, nullptr, extra));
  return ncclSuccess;
}

}  // namespace
}  // namespace cpu_nccl

ncclResult_t ncclLaunchOneRank(void* dst, const void* src, size_t count,
                               struct ncclDevRedOpFull operation, ncclDataType_t type,
                               cudaStream_t stream) {
  if (count == 0) return ncclSuccess;
  if (operation.op != ncclDevPreMulSum) {
    if (dst == src) return ncclSuccess;
    CUDACHECK(cudaMemcpyAsync(dst, src, count * ncclTypeSize(type), cudaMemcpyDefault, stream));
    return ncclSuccess;
  }
  cpu_nccl::Function function;
  function.operation = ncclDevPreMulSum;
  function.type = type;
  return cpu_nccl::Launch({static_cast<char*>(dst), static_cast<const char*>(src), count, function,
                           operation.scalarArg, operation.scalarArgIsPtr},
                          stream);
}
