#ifndef MUSTER_TESTS_NCCL_CUDA_FAKE_CUDA_H_
#define MUSTER_TESTS_NCCL_CUDA_FAKE_CUDA_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

// What the fake CUDA runtime offers beside the runtime's own functions: to tests, and to the fake
// NCCL, whose kernels run on its streams. How it is told what machine to imitate: README.md.
namespace fake_cuda {

// What the process holds now.
struct Counters {
  int64_t device_allocations = 0;
  int64_t device_bytes = 0;
  int64_t host_allocations = 0;
  int64_t streams = 0;  // created by the program
  int64_t events = 0;
};
Counters Live();

// Memory as the device sees it: where the bytes of a device pointer, or of pinned host memory, lie
// in this process. Null where the device cannot reach all of the range, as in pageable memory.
void* Reach(const void* pointer, size_t size);

// Memory of the device, or pinned memory of the host, that work reads or writes.
struct Access {
  const void* pointer = nullptr;
  size_t bytes = 0;
  bool writes = false;
  const char* what = "a kernel";  // of the work, for messages
  const void* owner = nullptr;    // whose work is in order whatever its streams: a communicator's
};

// Runs `kernel` on the thread of a stream once all of `streams`, which are of one device, have
// reached it; later work of all of them waits for it. Ends the process where nothing orders
// `accesses` behind what other streams do with the same memory.
void Launch(const std::vector<cudaStream_t>& streams, std::function<void()> kernel,
            const std::vector<Access>& accesses = {});

// The devices on which the process has opened a context.
std::vector<int> OpenedDevices();

// Makes the GPU fail as after a fault in a kernel: work that is not done is dropped, waits end, and
// every later call that uses a context returns `error`, until the process ends.
void FailDevice(cudaError_t error);

// Blocks until the device has no work left, as cudaFree does.
void AwaitIdle(int device);

// Ends the process with a message: the program did what the real libraries punish at random.
[[noreturn]] void Violation(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_FAKE_CUDA_H_
