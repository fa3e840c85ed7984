#ifndef MUSTER_CLIENT_NCCL_DEVICE_CUDA_DRIVER_H_
#define MUSTER_CLIENT_NCCL_DEVICE_CUDA_DRIVER_H_

#include <cuda_runtime_api.h>

#include <optional>
#include <string>

namespace muster::internal {

// The functions of CUDA's driver that this library uses. The driver knows which context a thread
// has, which the runtime does not tell. No driver is linked: the runtime finds the functions, or,
// before CUDA 12.5, the loader does.
// Thread-safe.
class CudaDriver {
 public:
  // Returns the driver. The first call looks for its functions.
  static const CudaDriver& Get();

  // Returns the calling thread's context (a CUcontext), or null if it has none yet or there is no
  // driver.
  void* CurrentContext() const;

  // Makes a context, or none if null, current on the calling thread. Opens no device. Returns false
  // if CUDA rejects the context or there is no driver.
  bool SetCurrentContext(void* context) const;

  // Returns whether this process has opened a device. False without a driver.
  bool HasOpened(int device) const;

  // Return a device's name, such as "NVIDIA H100 80GB HBM3", and its UUID. The runtime must have
  // counted the devices before, which initializes the driver. Nullopt without a driver, or if there
  // is no such device. Open no device.
  std::optional<std::string> NameOf(int device) const;
  std::optional<cudaUUID_t> UuidOf(int device) const;

 private:
  CudaDriver();

  int (*get_current_)(void** context) = nullptr;
  int (*set_current_)(void* context) = nullptr;
  int (*primary_state_)(int device, unsigned int* flags, int* active) = nullptr;
  int (*name_)(char* name, int size, int device) = nullptr;
  int (*uuid_)(cudaUUID_t* uuid, int device) = nullptr;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_DEVICE_CUDA_DRIVER_H_
