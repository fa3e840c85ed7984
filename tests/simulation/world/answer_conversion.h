#ifndef MUSTER_TESTS_SIMULATION_WORLD_ANSWER_CONVERSION_H_
#define MUSTER_TESTS_SIMULATION_WORLD_ANSWER_CONVERSION_H_

#include "client/src/protocol/messages/member_requests.h"
#include "common/rpc/rpcs.h"
#include "server/core/api/effects.h"
#include "server/service/conversion/response_conversion.h"

namespace muster::simulation {

// Converts the core's answer into the response of one kind of call, as the daemon's service does.
using AnswerConversion = internal::Response (*)(const core::Answer&);

// Converts answers to calls whose request is a `Request`.
template <typename Request>
internal::Response ConvertAnswer(const core::Answer& answer) {
  return service::WholeResponse<ResponseOf<Request>>(answer).value();
}

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_ANSWER_CONVERSION_H_
