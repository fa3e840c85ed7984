#ifndef MUSTER_TESTS_FUZZ_MPI_FUZZED_MPI_H_
#define MUSTER_TESTS_FUZZ_MPI_FUZZED_MPI_H_

#include <cstddef>
#include <cstdint>

namespace muster::fuzz {

// Runs an MPI world on one to three nodes as the input says: ranks that keep to their protocol,
// others that do not, launchers that meet through a store, and those that are killed. Aborts with a
// message if a promise is broken:
//
//   * The request of a rank that keeps to the protocol is answered, or the world ends with a cause
//     that names a rank and its node, or the launcher. Then no rank stays. A rank may wait for a
//     node that has not come into the world.
//   * In an undisturbed world every rank does its part, and the world does not end.
//   * A barrier ends when every rank has come. After it, a get returns what was put.
//   * All ranks know the world by one name.
//   * A rank that keeps to the protocol is never ended for breaking it.
//   * A rank keeps within its limits, and few keys stay in the store.
//   * A text for the user is one printable line.
void RunFuzzedPmi(const uint8_t* data, size_t size);
// The same with PMIx, as libpmix calls its host. Each call is answered exactly once.
void RunFuzzedPmix(const uint8_t* data, size_t size);

// Runs one of both, as the first byte says.
void RunFuzzedMpi(const uint8_t* data, size_t size);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MPI_FUZZED_MPI_H_
