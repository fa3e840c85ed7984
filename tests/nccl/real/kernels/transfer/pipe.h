#ifndef MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_PIPE_H_
#define MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_PIPE_H_

#include <sys/types.h>

#include <algorithm>
#include <cstddef>

#include "tests/nccl/real/kernels/block.h"
#include "tests/nccl/real/kernels/kernel_reduction.h"
#include "tests/nccl/real/kernels/transfer/fifo.h"

namespace cpu_nccl {

// A user's buffer, looked up when a step first touches it. Ranks may pass any pointer for a buffer
// that their part of the collective does not use.
class UserBuffer {
 public:
  UserBuffer(const Memory& memory, const void* device, size_t bytes)
      : memory_(memory), device_(static_cast<const char*>(device)), bytes_(bytes) {}

  const char* device() const { return device_; }

  // Returns the address of the byte at `offset`.
  char* At(size_t offset) {
    if (host_ == nullptr) {
      host_ = const_cast<char*>(memory_.Reach(device_, bytes_, "a user's buffer"));
    }
    return host_ + offset;
  }

 private:
  Memory memory_;
  const char* device_;
  size_t bytes_;
  char* host_ = nullptr;
};

// One move of a chunk through a rank of the ring: its sources, and the targets of the result.
// Offsets count elements of the user's buffers.
struct Move {
  static constexpr ssize_t kNone = -1;

  ssize_t count = 0;       // elements; 0 or less for ranks without data
  ssize_t input = kNone;   // take the user's input from here
  bool receive = false;    // take the previous rank's chunk, and reduce it with the input
  ssize_t output = kNone;  // write the result to the user's output here
  bool send = false;       // send the result to the next rank
  bool last = false;       // the result is complete
};

// This rank's place in the ring of a channel, for one collective.
class Pipe {
 public:
  Pipe(Block& block, Slices slices, const Reduction& reduction, UserBuffer input,
       UserBuffer output);

  // Runs the move, slice by slice. Blocks until the neighbours have taken or provided the data, or
  // the communicator is aborted.
  void Run(const Move& move);

  // Continues with the buffers of another collective.
  void SetBuffers(UserBuffer input, UserBuffer output);

  // Returns whether these elements of the input and the output are the same memory.
  bool IsInPlace(ssize_t input, ssize_t output) const;

 private:
  void RunSlice(const Move& move, size_t count);
  void Compute(const Move& move, size_t count);

  Block& block_;
  const Slices slices_;
  const Reduction& reduction_;
  const size_t min_slice_;  // elements
  UserBuffer input_;
  UserBuffer output_;
  Fifo receiver_;
  Fifo sender_;
};

}  // namespace cpu_nccl

#endif  // MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_PIPE_H_
