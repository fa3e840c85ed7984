#ifndef MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_WAITS_H_
#define MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_WAITS_H_

#include <cstdint>

namespace cpu_nccl {

// The pauses of a loop that waits for a peer: some turns of the scheduler, and then sleeps that
// grow to 1 ms. Without them, ranks that outnumber the cores would keep a core from the rank that
// can proceed.
class Pause {
 public:
  void Next();
  void Reset() { turns_ = 0; }

 private:
  int turns_ = 0;
};

// The waits of one block. Once a wait has seen the communicator's abort flag, no later call waits.
// As on a GPU, the block then runs to its end without moving data, but still counts its steps.
class Waits {
 public:
  explicit Waits(const volatile uint32_t* abort_flag) : abort_flag_(abort_flag) {}

  bool aborted() const { return aborted_; }

  // Reads the abort flag, and returns it. Called before each pause of a wait.
  bool CheckAbort() {
    if (__atomic_load_n(abort_flag_, __ATOMIC_ACQUIRE) != 0) aborted_ = true;
    return aborted_;
  }

  // Blocks until `ready()` holds or the communicator is aborted.
  template <class Ready>
  void Until(Ready ready) {
    for (Pause pause; !aborted_ && !ready() && !CheckAbort();) pause.Next();
  }

 private:
  const volatile uint32_t* const abort_flag_;
  bool aborted_ = false;
};

}  // namespace cpu_nccl

#endif  // MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_WAITS_H_
