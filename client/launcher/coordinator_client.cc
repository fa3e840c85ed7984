#include "client/launcher/coordinator_client.h"

#include <grpcpp/grpcpp.h>

#include "absl/time/clock.h"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster::launcher {
namespace {

using muster::v1::CoordinatorService;

std::shared_ptr<grpc::Channel> NewChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // a coordinator is never behind one
  arguments.SetMaxReceiveMessageSize(-1);           // thousands of members fill more than 4 MiB
  // A coordinator that is started again is found at once; gRPC's own waits reach two minutes. The
  // smallest "backoff" is how long one attempt may take: a machine that starts hundreds of ranks
  // can need seconds for a handshake, and to begin it anew would only be slower.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

void SetTimeout(grpc::ClientContext* context, absl::Duration timeout) {
  context->set_deadline(absl::ToChronoTime(absl::Now() + timeout));
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace

struct CoordinatorClient::Stub {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<CoordinatorService::Stub> rpcs;
};

CoordinatorClient::CoordinatorClient(const std::string& address)
    : stub_(new Stub{NewChannel(address), nullptr}) {
  stub_->rpcs = CoordinatorService::NewStub(stub_->channel);
}

CoordinatorClient::~CoordinatorClient() = default;

void CoordinatorClient::Connect() { stub_->channel->GetState(/*try_to_connect=*/true); }

absl::StatusOr<muster::v1::GetStatusResponse> CoordinatorClient::GetStatus(
    absl::Duration timeout, bool wait_for_connection) {
  grpc::ClientContext context;
  context.set_wait_for_ready(wait_for_connection);
  SetTimeout(&context, timeout);
  muster::v1::GetStatusResponse response;
  const grpc::Status status = stub_->rpcs->GetStatus(&context, {}, &response);
  if (!status.ok()) return FromGrpc(status);
  return response;
}

absl::Status CoordinatorClient::ReportExit(const std::string& job, const std::string& incarnation,
                                           const ProcessEnd& end, absl::Duration timeout) {
  grpc::ClientContext context;
  SetTimeout(&context, timeout);
  muster::v1::ReportExitRequest request;
  request.set_job_id(job);
  request.set_incarnation(incarnation);
  if (end.signaled) {
    request.set_signal(end.code);
  } else {
    request.set_exit_code(end.code);
  }
  muster::v1::ReportExitResponse response;
  return FromGrpc(stub_->rpcs->ReportExit(&context, request, &response));
}

absl::Status CoordinatorClient::ReportProcessState(const std::string& job,
                                                   const std::string& incarnation, bool stopped,
                                                   absl::Duration timeout) {
  grpc::ClientContext context;
  SetTimeout(&context, timeout);
  muster::v1::ReportProcessStateRequest request;
  request.set_job_id(job);
  request.set_incarnation(incarnation);
  request.set_state(stopped ? muster::v1::PROCESS_STATE_STOPPED
                            : muster::v1::PROCESS_STATE_RUNNING);
  muster::v1::ReportProcessStateResponse response;
  return FromGrpc(stub_->rpcs->ReportProcessState(&context, request, &response));
}

}  // namespace muster::launcher
