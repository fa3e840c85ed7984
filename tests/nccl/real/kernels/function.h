#ifndef MUSTER_TESTS_NCCL_REAL_KERNELS_FUNCTION_H_
#define MUSTER_TESTS_NCCL_REAL_KERNELS_FUNCTION_H_

#include <string>

#include "collectives.h"
#include "device.h"

namespace cpu_nccl {

// A device function of NCCL: one of the rows that NCCL's generator writes.
struct Function {
  ncclFunc_t collective = ncclFuncSendRecv;
  int operation = ncclDevSum;  // ncclDevRedOp_t
  ncclDataType_t type = ncclInt8;
  int algorithm = NCCL_ALGO_RING;
  int protocol = NCCL_PROTO_SIMPLE;
};

// Returns what the function with this number does. If the result does not depend on the sign, NCCL
// has one function for all types of a size. The returned type is one of these.
const Function& FunctionOf(int id);

// Returns "AllReduce by Tree with protocol LL", for messages.
std::string NameOf(const Function& function);

}  // namespace cpu_nccl

#endif  // MUSTER_TESTS_NCCL_REAL_KERNELS_FUNCTION_H_
