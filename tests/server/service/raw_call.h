#ifndef MUSTER_TESTS_SERVER_SERVICE_RAW_CALL_H_
#define MUSTER_TESTS_SERVER_SERVICE_RAW_CALL_H_

#include <string>

#include "absl/status/statusor.h"

namespace muster::testing {

// Calls a method ("/grpc.health.v1.Health/Check") for which there is no generated stub: sends one
// encoded message and returns the first that comes back.
absl::StatusOr<std::string> RawCall(const std::string& address, const std::string& method,
                                    const std::string& message);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_SERVER_SERVICE_RAW_CALL_H_
