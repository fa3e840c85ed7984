#ifndef MUSTER_TESTS_CLIENT_NCCL_RANK_TYPED_NUMBERS_H_
#define MUSTER_TESTS_CLIENT_NCCL_RANK_TYPED_NUMBERS_H_

#include <string>
#include <vector>

#include "muster/communicator.h"

namespace muster::testing {

// A type of the data plane, with its name for messages.
struct TypeInfo {
  DataType type;
  const char* name;
  size_t size;
  bool is_integer;
};
const std::vector<TypeInfo>& AllTypes();
const TypeInfo& InfoOf(DataType type);

// Convert numbers into elements of a type, and back. The numbers must be exact in that type.
std::string Encode(DataType type, const std::vector<double>& numbers);
std::vector<double> Decode(DataType type, const std::string& bytes);

const std::vector<ReduceOp>& AllOps();

// Returns `op` over `values`, one from each rank. Averages of integers are rounded toward zero.
double Reduced(ReduceOp op, const std::vector<double>& values, bool is_integer);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_NCCL_RANK_TYPED_NUMBERS_H_
