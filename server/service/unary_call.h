#ifndef MUSTER_SERVER_SERVICE_UNARY_CALL_H_
#define MUSTER_SERVER_SERVICE_UNARY_CALL_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/support/server_callback.h"
#include "server/service/driver.h"
#include "server/service/response_conversion.h"
#include "server/service/status.h"

namespace muster::service {

// The reactor of every unary call: holds the waiter's id and no policy. Deletes itself once gRPC is
// done with it.
template <typename Response>
class UnaryCall final : public grpc::ServerUnaryReactor, public Call {
 public:
  // Starts a call whose request converted to `request`; `step` is the core's method for it.
  template <typename Request>
  static grpc::ServerUnaryReactor* Start(
      Driver* driver, const absl::StatusOr<Request>& request, Response* response,
      core::Effects (core::Coordinator::*step)(core::Time, core::WaiterId, const Request&)) {
    auto* call = new UnaryCall(driver, response);
    if (!request.ok()) {
      call->Finish(ToGrpcStatus(request.status()));
      return call;
    }
    driver->Run(call->id_, call, [&](core::Coordinator& core, core::Time now) {
      return (core.*step)(now, call->id_, *request);
    });
    return call;
  }

  void End(const absl::Status& status, const core::Answer& answer) override {
    Finish(ToGrpcStatus(status.ok() ? Respond(answer) : status));
  }

  void OnCancel() override { driver_->Cancel(id_); }

  void OnDone() override {
    driver_->Exit();
    delete this;
  }

 private:
  UnaryCall(Driver* driver, Response* response)
      : driver_(driver), id_(driver->Enter()), response_(response) {}

  absl::Status Respond(const core::Answer& answer) {
    ToProto(answer, response_);
    const size_t size = response_->ByteSizeLong();
    if (size <= std::numeric_limits<int32_t>::max()) return absl::OkStatus();
    response_->Clear();
    return absl::ResourceExhaustedError(
        absl::StrCat("the answer has ", size,
                     " bytes, more than one message can carry (2 GiB): lower the "
                     "ranks' payloads, or gather in several steps"));
  }

  Driver* const driver_;
  const core::WaiterId id_;
  Response* const response_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_UNARY_CALL_H_
