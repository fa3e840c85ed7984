#ifndef MUSTER_TESTS_SIMULATION_STRANGER_H_
#define MUSTER_TESTS_SIMULATION_STRANGER_H_

#include <cstdint>
#include <variant>

#include "client/src/protocol/requests.h"
#include "server/core/job_status.h"

namespace muster::simulation {

// Something that somebody sends who is no member, but knows the job and all that the daemon tells
// anybody: its instance and its status. The rest, the members' secrets and sessions, is guessed.
using Guess = std::variant<v1::AttachRequest, v1::ReportExitRequest, v1::ReportProcessStateRequest,
                           internal::Request>;

// `choice` decides what it is.
Guess DrawGuess(uint64_t choice, uint64_t daemon_instance, const core::JobStatus& status);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_STRANGER_H_
