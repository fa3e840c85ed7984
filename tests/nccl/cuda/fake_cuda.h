#ifndef MUSTER_TESTS_NCCL_CUDA_FAKE_CUDA_H_
#define MUSTER_TESTS_NCCL_CUDA_FAKE_CUDA_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

// Functions of the fake CUDA runtime beside CUDA's own. Tests use them, and so does the fake NCCL,
// whose kernels run on its streams. README.md lists the variables that describe the machine.
namespace fake_cuda {

// Counts of what the process holds now.
struct Counters {
  int64_t device_allocations = 0;
  int64_t device_bytes = 0;
  int64_t host_allocations = 0;
  int64_t streams = 0;  // created by the program
  int64_t events = 0;
};
Counters CurrentCounters();

// Returns where the bytes of a device pointer, or of pinned host memory, lie in this process.
// Returns null if the device cannot reach the whole range, as in pageable memory.
void* Reach(const void* pointer, size_t size);

// A range of device memory or pinned host memory that work reads or writes.
struct Access {
  const void* pointer = nullptr;
  size_t bytes = 0;
  bool writes = false;
  const char* what = "a kernel";  // the work's name in messages
  const void* owner = nullptr;    // work of one owner, such as a communicator, is always in order
};

// Runs `kernel` on the thread of a stream once all of `streams`, which belong to one device, have
// reached it. Their later work waits for it. Ends the process if nothing orders `accesses` after
// what other streams do with the same memory.
void Launch(const std::vector<cudaStream_t>& streams, std::function<void()> kernel,
            const std::vector<Access>& accesses = {});

// Returns the devices on which the process has opened a context.
std::vector<int> OpenedDevices();

// Makes the GPU fail as after a fault in a kernel. Work that is not done is dropped, and waits end.
// Until the process ends, every later call that uses a context returns `error`.
void FailDevice(cudaError_t error);

// Blocks until the device has no work left, as cudaFree does.
void AwaitIdle(int device);

// Ends the process with a message, because the program did what crashes, hangs or corrupts data on
// the real libraries at random.
[[noreturn]] void Violation(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_FAKE_CUDA_H_
