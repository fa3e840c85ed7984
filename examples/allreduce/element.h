#ifndef MUSTER_EXAMPLES_ALLREDUCE_ELEMENT_H_
#define MUSTER_EXAMPLES_ALLREDUCE_ELEMENT_H_

#include "muster/communicator.h"

namespace allreduce {

// Writes `value` as one element of `type`. float16 must be able to hold the value exactly. NCCL
// must have the type, and C++ must be able to compute with it.
void Store(muster::DataType type, double value, void* element);

// Returns one element of `type`.
double Load(muster::DataType type, const void* element);

// Returns the distance of two neighbouring numbers of `type` at 1, or 0 for integers.
double Epsilon(muster::DataType type);

}  // namespace allreduce

#endif  // MUSTER_EXAMPLES_ALLREDUCE_ELEMENT_H_
