#ifndef MUSTER_TESTS_FUZZ_MPI_PMI_NOISE_H_
#define MUSTER_TESTS_FUZZ_MPI_PMI_NOISE_H_

#include <string>

#include "tests/fuzz/byte_source.h"

namespace muster::fuzz {

// Returns what a dishonest rank sends next: a valid line in the wrong place, a changed one, noise,
// or a long one. Without a newline at its end, a line may go on with the next bytes.
std::string DishonestBytes(ByteSource* bytes);

// Returns puts beyond the limit of a rank.
std::string ManyPuts();

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MPI_PMI_NOISE_H_
