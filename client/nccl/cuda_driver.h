#ifndef MUSTER_CLIENT_NCCL_CUDA_DRIVER_H_
#define MUSTER_CLIENT_NCCL_CUDA_DRIVER_H_

namespace muster::internal {

// What is used here of CUDA's driver, which knows what its runtime does not tell: which context a
// thread has. The runtime finds the driver's functions, so that none is linked. Thread-safe.
class Driver {
 public:
  // Looks for the driver in the first call.
  static const Driver& Get();

  // The calling thread's context (a CUcontext). Null if it has none yet, or without a driver.
  void* CurrentContext() const;

  // Makes a context current on the calling thread; null: none. Opens no device. False if CUDA
  // refuses it, or without a driver.
  bool SetCurrentContext(void* context) const;

  // Whether this process has opened a device. False without a driver.
  bool HasOpened(int device) const;

 private:
  Driver();

  int (*get_current_)(void** context) = nullptr;
  int (*set_current_)(void* context) = nullptr;
  int (*primary_state_)(int device, unsigned int* flags, int* active) = nullptr;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_CUDA_DRIVER_H_
