#ifndef MUSTER_TESTS_SERVER_SERVICE_RAW_CALL_H_
#define MUSTER_TESTS_SERVER_SERVICE_RAW_CALL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"

namespace muster::testing {

// Of a call: its metadata.
struct Header {
  std::string name;
  std::string value;
};

// Calls a method ("/grpc.health.v1.Health/Check") for which there is no generated stub: sends one
// encoded message and returns the first that comes back.
absl::StatusOr<std::string> RawCall(const std::string& address, const std::string& method,
                                    const std::string& message);
absl::StatusOr<std::string> RawCall(const std::shared_ptr<grpc::Channel>& channel,
                                    const std::string& method, const std::string& message,
                                    const std::vector<Header>& headers);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_SERVER_SERVICE_RAW_CALL_H_
