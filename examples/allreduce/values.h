#ifndef MUSTER_EXAMPLES_ALLREDUCE_VALUES_H_
#define MUSTER_EXAMPLES_ALLREDUCE_VALUES_H_

#include <cstddef>
#include <string>

#include "examples/allreduce/work.h"

namespace allreduce {

// What `rank` puts in: different for each rank and element, and such that the result is known
// without running the operation.
std::string Input(const Work& work, int rank);

// How many elements of what `rank` got out are not what they should be.
size_t CountWrong(const Work& work, int rank, const std::string& output);

}  // namespace allreduce

#endif  // MUSTER_EXAMPLES_ALLREDUCE_VALUES_H_
