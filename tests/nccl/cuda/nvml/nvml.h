#ifndef MUSTER_TESTS_NCCL_CUDA_NVML_NVML_H_
#define MUSTER_TESTS_NCCL_CUDA_NVML_NVML_H_

// The part of NVML's interface that NCCL and Muster use, with the layouts of NVML's documentation.
// The CUDA toolkit that the tests need does not include nvml.h.
extern "C" {

typedef int nvmlReturn_t;
typedef void* nvmlDevice_t;

enum : nvmlReturn_t {
  NVML_SUCCESS = 0,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
};

enum { NVML_P2P_STATUS_OK = 0, NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED = 1 };

typedef struct {
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId;
  unsigned int computeInstanceId;
} nvmlProcessInfo_t;

}  // extern "C"

#endif  // MUSTER_TESTS_NCCL_CUDA_NVML_NVML_H_
