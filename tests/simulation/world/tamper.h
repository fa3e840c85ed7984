#ifndef MUSTER_TESTS_SIMULATION_WORLD_TAMPER_H_
#define MUSTER_TESTS_SIMULATION_WORLD_TAMPER_H_

#include "client/src/protocol/messages/member_requests.h"
#include "muster/v1/coordinator.pb.h"
#include "tests/simulation/world/random.h"

namespace muster::simulation {

// Sometimes changes a request as a hostile member would: to numbers that nearly overflow, and to
// long texts with terminal control codes.
void Tamper(Random* random, v1::AttachRequest* request);
void Tamper(Random* random, internal::Request* request);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_TAMPER_H_
