#ifndef MUSTER_SERVER_SERVICE_ANSWERS_STREAM_RESET_H_
#define MUSTER_SERVER_SERVICE_ANSWERS_STREAM_RESET_H_

#include <memory>
#include <string>
#include <utility>

#include "grpc/grpc.h"
#include "grpcpp/server_context.h"
#include "server/service/answers/unread_answer_limiter.h"

namespace muster::service {

// Returns a function that resets the RPC's HTTP/2 stream, so that gRPC frees the data that waits to
// be sent on it. It may be called after the RPC has ended: unlike ServerContext::TryCancel, it
// holds a reference to the call.
inline UnreadAnswerLimiter::StreamReset MakeStreamReset(grpc::CallbackServerContext* context) {
  grpc_call_ref(context->c_call());
  std::unique_ptr<grpc_call, void (*)(grpc_call*)> call(context->c_call(), grpc_call_unref);
  return [call = std::move(call)](const absl::Status& why) {
    grpc_call_cancel_with_status(call.get(), static_cast<grpc_status_code>(why.code()),
                                 std::string(why.message()).c_str(), nullptr);
  };
}

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_ANSWERS_STREAM_RESET_H_
