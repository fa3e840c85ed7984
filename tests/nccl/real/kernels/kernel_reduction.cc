#include "tests/nccl/real/kernels/kernel_reduction.h"

#include <cstring>

#include "tests/nccl/real/kernels/element_arithmetic.h"
#include "tests/nccl/real/kernels/kernel_memory.h"

namespace cpu_nccl {
namespace {

using Loop = void (*)(const Operands&, uint64_t);

template <class T, int kOperation>
T Combine(T a, T b, uint64_t argument) {
  if constexpr (kOperation == ncclDevProd) return Multiply(a, b);
  if constexpr (kOperation == ncclDevMinMax) return Extreme(a, b, argument);
  return Add(a, b);
}

template <class T, int kOperation>
T Reduced(const Operands& operands, size_t at, uint64_t argument) {
  T value = Load<T>(operands.first + at);
  if (kOperation == ncclDevPreMulSum && operands.first_is_input) {
    value = Multiply(value, FromArgument<T>(argument));
  }
  if (operands.second != nullptr) {
    value = Combine<T, kOperation>(value, Load<T>(operands.second + at), argument);
  }
  if constexpr (kOperation == ncclDevSumPostDiv && std::is_integral_v<T>) {
    if (operands.last) value = Divide(value, argument);
  }
  return value;
}

template <class T, int kOperation>
void RunLoop(const Operands& operands, uint64_t argument) {
  for (size_t at = 0; at < operands.count * sizeof(T); at += sizeof(T)) {
    Store(Reduced<T, kOperation>(operands, at, argument), operands.to + at);
  }
}

template <class T>
Loop LoopOf(int operation) {
  static constexpr Loop kLoops[] = {RunLoop<T, ncclDevSum>, RunLoop<T, ncclDevProd>,
                                    RunLoop<T, ncclDevMinMax>, RunLoop<T, ncclDevPreMulSum>,
                                    RunLoop<T, ncclDevSumPostDiv>};
  return kLoops[operation];
}

// Returns the loop for a type and operation. Signed integers compute as unsigned ones, as in NCCL.
Loop LoopOf(ncclDataType_t type, int operation) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return LoopOf<uint8_t>(operation);
    case ncclInt32:
    case ncclUint32:
      return LoopOf<uint32_t>(operation);
    case ncclInt64:
    case ncclUint64:
      return LoopOf<uint64_t>(operation);
    case ncclFloat16:
      return LoopOf<__half>(operation);
    case ncclFloat32:
      return LoopOf<float>(operation);
    case ncclFloat64:
      return LoopOf<double>(operation);
    case ncclBfloat16:
      return LoopOf<__nv_bfloat16>(operation);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 24, 0)
    case ncclFloat8e4m3:
      return LoopOf<__nv_fp8_e4m3>(operation);
    case ncclFloat8e5m2:
      return LoopOf<__nv_fp8_e5m2>(operation);
#endif
    default:
      Refuse("a kernel reduces elements of type %d", static_cast<int>(type));
  }
}

// Returns the divisor in the form of later versions, with the sign in bit 0. NCCL 2.22 passes the
// divisor alone, and has a function for each sign.
uint64_t ArgumentOf([[maybe_unused]] const Function& function, uint64_t argument) {
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 23, 0)
  if (function.operation == ncclDevSumPostDiv) {
    const bool is_signed =
        function.type == ncclInt8 || function.type == ncclInt32 || function.type == ncclInt64;
    return argument << 1 | (is_signed ? 1 : 0);
  }
#endif
  return argument;
}

}  // namespace

Reduction::Reduction(const Function& function, uint64_t argument)
    : element_bytes_(ncclTypeSize(function.type)),
      loop_(LoopOf(function.type, function.operation)),
      argument_(ArgumentOf(function, argument)),
      scales_(function.operation == ncclDevPreMulSum),
      divides_(function.operation == ncclDevSumPostDiv) {}

bool Reduction::HasArgument(const Function& function) {
  return function.operation == ncclDevMinMax || function.operation == ncclDevPreMulSum ||
         function.operation == ncclDevSumPostDiv;
}

size_t Reduction::ArgumentBytes(const Function& function) {
  return function.operation == ncclDevSumPostDiv ? sizeof(uint64_t) : ncclTypeSize(function.type);
}

void Reduction::Run(const Operands& operands) const {
  const bool changes = (scales_ && operands.first_is_input) || (divides_ && operands.last);
  if (operands.second != nullptr || changes) return loop_(operands, argument_);
  if (operands.to != operands.first) {
    std::memmove(operands.to, operands.first, operands.count * element_bytes_);
  }
}

}  // namespace cpu_nccl
