#ifndef MUSTER_CLIENT_SRC_PROTOCOL_EFFECTS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_EFFECTS_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/protocol/requests.h"
#include "muster/log.h"

// What a step of a MemberCore asks its surroundings to do.
namespace muster::internal {

// A call of the program, as the surroundings name it. Never reused; 0 is no call.
using CallId = uint64_t;

// Sends a unary call, which must end with exactly one MemberCore::OnReply(); without a limit of its
// own: a call that takes too long is cancelled.
struct SendCall {
  uint64_t attempt = 0;
  Request request;
};

// Opens an Attach stream, which must end with exactly one MemberCore::OnStreamEnd().
struct OpenStream {
  uint64_t attempt = 0;
  v1::AttachRequest request;
};

// The reply to a call, or the stream, is not wanted any more: the coordinator should withdraw it.
// Nothing happens if it has ended.
struct CancelSend {
  uint64_t attempt = 0;
};

struct WriteLog {
  LogLevel level = LogLevel::kInfo;
  std::string line;
};

using Output = std::variant<SendCall, OpenStream, CancelSend, WriteLog>;

// Ends a call of the program.
struct Completion {
  CallId call = 0;
  absl::StatusOr<Response> reply;
};

struct Effects {
  std::vector<Output> outputs;  // to be done in this order
  std::vector<Completion> completions;
  // Something has changed that programs may be waiting for beside their calls:
  // MemberCore::HealthOf().
  bool news = false;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_EFFECTS_H_
