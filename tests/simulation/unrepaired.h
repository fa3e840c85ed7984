#ifndef MUSTER_TESTS_SIMULATION_UNREPAIRED_H_
#define MUSTER_TESTS_SIMULATION_UNREPAIRED_H_

namespace muster::simulation {

// Happenings that find bugs which stand in the code. Each line is to be deleted, with its use,
// when its bug is repaired.
// A call that was deferred while the daemon recovered, and then withdrawn, has a late duplicate.
inline constexpr bool kDuplicatesOfPutOff = false;

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_UNREPAIRED_H_
