#ifndef MUSTER_EXAMPLES_ALLREDUCE_VALUES_H_
#define MUSTER_EXAMPLES_ALLREDUCE_VALUES_H_

#include <cstddef>
#include <string>

#include "examples/allreduce/work.h"

namespace allreduce {

// Returns the input of `rank`. It differs for each rank and element, and the result of the
// operation can be computed without running it.
std::string Input(const Work& work, int rank);

// Returns how many elements of the output of `rank` are wrong.
size_t CountWrong(const Work& work, int rank, const std::string& output);

}  // namespace allreduce

#endif  // MUSTER_EXAMPLES_ALLREDUCE_VALUES_H_
