#ifndef MUSTER_TESTS_SIMULATION_WIRE_WORDS_H_
#define MUSTER_TESTS_SIMULATION_WIRE_WORDS_H_

#include <string>

#include "muster/v1/coordinator.pb.h"

namespace muster::simulation {

struct SentRpc;

// Returns a message as one line of a printed schedule. Expensive: call it only to print the line.
std::string Words(const SentRpc& rpc);
std::string Words(const v1::AttachResponse& response);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WIRE_WORDS_H_
