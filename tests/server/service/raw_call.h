#ifndef MUSTER_TESTS_SERVER_SERVICE_RAW_CALL_H_
#define MUSTER_TESTS_SERVER_SERVICE_RAW_CALL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"

namespace muster::testing {

// One metadata entry of a call.
struct Header {
  std::string name;
  std::string value;
};

// Calls a method ("/grpc.health.v1.Health/Check") without a generated stub. Sends one encoded
// message and returns the first message that comes back.
absl::StatusOr<std::string> RawCall(const std::string& address, const std::string& method,
                                    const std::string& message);
absl::StatusOr<std::string> RawCall(const std::shared_ptr<grpc::Channel>& channel,
                                    const std::string& method, const std::string& message,
                                    const std::vector<Header>& headers);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_SERVER_SERVICE_RAW_CALL_H_
