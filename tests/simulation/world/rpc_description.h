#ifndef MUSTER_TESTS_SIMULATION_WORLD_RPC_DESCRIPTION_H_
#define MUSTER_TESTS_SIMULATION_WORLD_RPC_DESCRIPTION_H_

#include <string>

#include "muster/v1/coordinator.pb.h"

namespace muster::simulation {

struct SentRpc;

// Returns a message as one line of a printed schedule. Expensive: call it only to print the line.
std::string Describe(const SentRpc& rpc);
std::string Describe(const v1::AttachResponse& response);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_RPC_DESCRIPTION_H_
