#ifndef MUSTER_TESTS_NCCL_REAL_KERNELS_KERNEL_REDUCTION_H_
#define MUSTER_TESTS_NCCL_REAL_KERNELS_KERNEL_REDUCTION_H_

#include <cstddef>
#include <cstdint>

#include "tests/nccl/real/kernels/function.h"

namespace cpu_nccl {

// The operands of one step of a collective.
struct Operands {
  char* to = nullptr;
  const char* first = nullptr;
  const char* second = nullptr;  // null: there is nothing to add to `first`
  size_t count = 0;
  bool first_is_input = false;  // the user's input, which PreMulSum scales
  bool last = false;            // the result is complete; SumPostDiv divides it
};

// The arithmetic of a device function: its type, its operation, and the operation's argument (the
// scale of PreMulSum, the divisor of SumPostDiv, the kind of MinMax).
class Reduction {
 public:
  Reduction(const Function& function, uint64_t argument);

  size_t element_bytes() const { return element_bytes_; }

  // Returns whether the operation has an argument, which may lie in device memory.
  static bool HasArgument(const Function& function);

  // Returns the bytes of that argument in device memory.
  static size_t ArgumentBytes(const Function& function);

  // Writes pre(first) + second, or the operation's equivalent, to `to`, which may be an operand.
  void Run(const Operands& operands) const;

 private:
  using Loop = void (*)(const Operands&, uint64_t argument);

  size_t element_bytes_;
  Loop loop_;
  uint64_t argument_;
  bool scales_;
  bool divides_;
};

}  // namespace cpu_nccl

#endif  // MUSTER_TESTS_NCCL_REAL_KERNELS_KERNEL_REDUCTION_H_
