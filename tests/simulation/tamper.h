#ifndef MUSTER_TESTS_SIMULATION_TAMPER_H_
#define MUSTER_TESTS_SIMULATION_TAMPER_H_

#include "client/src/protocol/requests.h"
#include "muster/v1/coordinator.pb.h"
#include "tests/simulation/random.h"

namespace muster::simulation {

// What a hostile member makes of its requests, sometimes: numbers next to overflow, and texts that
// are long and would take a terminal over.
void Tamper(Random* random, v1::AttachRequest* request);
void Tamper(Random* random, internal::Request* request);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_TAMPER_H_
