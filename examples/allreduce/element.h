#ifndef MUSTER_EXAMPLES_ALLREDUCE_ELEMENT_H_
#define MUSTER_EXAMPLES_ALLREDUCE_ELEMENT_H_

#include "muster/communicator.h"

namespace allreduce {

// Writes `value` as one element of `type`. The value must be one that float16 can hold exactly, and
// the type one that both NCCL has and C++ can compute with.
void Store(muster::DataType type, double value, void* element);

// Reads one element of `type`.
double Load(muster::DataType type, const void* element);

// How far two neighbouring numbers of `type` lie apart at 1; 0 for integers.
double Epsilon(muster::DataType type);

}  // namespace allreduce

#endif  // MUSTER_EXAMPLES_ALLREDUCE_ELEMENT_H_
