#ifndef MUSTER_TESTS_CLIENT_NCCL_TYPED_NUMBERS_H_
#define MUSTER_TESTS_CLIENT_NCCL_TYPED_NUMBERS_H_

#include <string>
#include <vector>

#include "muster/communicator.h"

namespace muster::testing {

// Every type of the data plane, and its name for messages.
struct TypeInfo {
  DataType type;
  const char* name;
  size_t size;
  bool is_integer;
};
const std::vector<TypeInfo>& AllTypes();
const TypeInfo& InfoOf(DataType type);

// Numbers as elements of a type, and back. The numbers are to be exact in the type.
std::string Encode(DataType type, const std::vector<double>& numbers);
std::vector<double> Decode(DataType type, const std::string& bytes);

const std::vector<ReduceOp>& AllOps();

// op over `values`, one from each rank; averages of integers are rounded toward zero.
double Reduced(ReduceOp op, const std::vector<double>& values, bool is_integer);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_NCCL_TYPED_NUMBERS_H_
