#ifndef MUSTER_TESTS_SIMULATION_WORLD_STRANGER_H_
#define MUSTER_TESTS_SIMULATION_WORLD_STRANGER_H_

#include <cstdint>
#include <variant>
#include <vector>

#include "client/src/protocol/messages/member_requests.h"
#include "server/core/api/job_status.h"

namespace muster::simulation {

// A message from a process that is no member. It knows the job and all that the daemon tells any
// caller: its instance and its status. It guesses the rest: the members' secrets and sessions.
using Guess = std::variant<v1::AttachRequest, v1::ReportExitRequest, v1::ReportProcessStateRequest,
                           internal::Request>;

// Draws a message; `choice` decides which.
Guess DrawGuess(uint64_t choice, uint64_t daemon_instance, const core::JobStatus& status);

// The reason that a stranger gives when it gives a process up.
inline constexpr char kLie[] = "a stranger says so";

// Draws what a launcher would report that has started some processes and maybe has given up one of
// them. None of them exists.
std::vector<Guess> DrawLies(uint64_t choice);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_STRANGER_H_
