#ifndef MUSTER_TESTS_NCCL_REAL_KERNELS_KERNEL_MEMORY_H_
#define MUSTER_TESTS_NCCL_REAL_KERNELS_KERNEL_MEMORY_H_

#include <cstddef>

#include "tests/nccl/cuda/cpu_kernel.h"

namespace cpu_nccl {

// Prints "VIOLATION: ..." with the version of NCCL, and ends the process. Called if NCCL asks for a
// kernel that does not exist here, or names memory that a GPU could not reach.
[[noreturn]] void Refuse(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Memory as a kernel sees it. NCCL passes device pointers, and Reach() returns where their bytes
// lie in this process. A look-up takes a lock, so callers keep the result while they use it.
class Memory {
 public:
  explicit Memory(const CpuLaunch& launch) : reach_(launch.reach) {}

  // Returns `count` elements at a device pointer. Ends the process if a GPU could not reach them.
  // `what` names them in the message.
  template <class T>
  T* Reach(T* pointer, size_t count, const char* what) const {
    return static_cast<T*>(
        Bytes(const_cast<const void*>(static_cast<const volatile void*>(pointer)),
              count * sizeof(T), what));
  }

 private:
  void* Bytes(const void* pointer, size_t bytes, const char* what) const;

  void* (*reach_)(const void*, size_t);
};

}  // namespace cpu_nccl

#endif  // MUSTER_TESTS_NCCL_REAL_KERNELS_KERNEL_MEMORY_H_
