#include "client/launcher/coordinator/coordinator_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/credentials/caller_credentials.h"
#include "common/process/steady_now.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/stub_methods.h"
#include "common/text/utf8.h"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster::launcher {
namespace {

using muster::v1::CoordinatorService;

constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";
constexpr size_t kMaxGivenUpBytes = 1024;  // the coordinator's limit
constexpr char kClosed[] = "the launcher closes its connections to the coordinator";
constexpr char kServing[] = "\x08\x01";  // HealthCheckResponse{status: SERVING}

grpc::ChannelArguments ChannelOptions() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // a coordinator is never behind a proxy
  arguments.SetMaxReceiveMessageSize(-1);  // the status of thousands of members exceeds 4 MiB
  // Finds a restarted coordinator at once; gRPC's default back-off grows to two minutes.
  // MIN_RECONNECT_BACKOFF is in fact the timeout of one attempt. A machine that starts hundreds of
  // ranks can need seconds for a handshake, and a new attempt would only be slower.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return arguments;
}

}  // namespace

struct CoordinatorClient::Stub {
  std::string address;
  absl::StatusOr<std::shared_ptr<CallerCredentials>> credentials;
  std::shared_ptr<grpc::Channel> channel;  // null if the credentials cannot be used
  std::unique_ptr<CoordinatorService::Stub> rpcs;
};

CoordinatorClient::CoordinatorClient(const std::string& address, const CredentialFiles& credentials,
                                     std::shared_ptr<ClientGroup> group)
    : group_(std::move(group)) {
  if (group_ != nullptr && !group_->AddClient()) {
    stub_.reset(new Stub{address, absl::CancelledError(kClosed), nullptr, nullptr});
    group_ = nullptr;
    return;
  }
  stub_.reset(new Stub{address, CallerCredentials::Load(credentials), nullptr, nullptr});
  if (!stub_->credentials.ok()) return;
  stub_->channel = (*stub_->credentials)->NewChannel(address, ChannelOptions());
  stub_->rpcs = CoordinatorService::NewStub(stub_->channel);
}

CoordinatorClient::~CoordinatorClient() {
  stub_.reset();
  if (group_ != nullptr) group_->RemoveClient();
}

template <typename Request>
absl::StatusOr<ResponseOf<Request>> CoordinatorClient::Call(const Request& request,
                                                            absl::Duration timeout,
                                                            bool wait_for_connection) {
  constexpr auto kMethod = StubMethods<Request>::kBlocking;
  if (!stub_->credentials.ok()) return stub_->credentials.status();
  const CallerCredentials& credentials = **stub_->credentials;
  const absl::Time deadline = SteadyNow() + timeout;
  ResponseOf<Request> response;
  while (true) {
    grpc::ClientContext context;
    context.set_wait_for_ready(wait_for_connection);
    context.set_deadline(absl::ToChronoTime(absl::Now() + (deadline - SteadyNow())));
    const uint64_t token = credentials.Sign(&context);
    if (group_ != nullptr && !group_->AddCall(&context)) return absl::CancelledError(kClosed);
    const absl::Status status =
        FromGrpc((stub_->rpcs.get()->*kMethod)(&context, request, &response));
    if (group_ != nullptr) group_->RemoveCall(&context);
    CallerCredentials::RetryDecision decision =
        credentials.DecideRetry(token, status, stub_->address);
    if (decision.retry_now) continue;
    if (!decision.status.ok()) return decision.status;
    return response;
  }
}

void CoordinatorClient::Connect() {
  if (stub_->channel != nullptr) stub_->channel->GetState(/*try_to_connect=*/true);
}

absl::StatusOr<muster::v1::GetStatusResponse> CoordinatorClient::GetStatus(absl::Duration timeout,
                                                                           bool wait_for_connection,
                                                                           const std::string& job,
                                                                           bool with_timeline) {
  muster::v1::GetStatusRequest request;
  request.set_job_id(job);
  request.set_with_timeline(with_timeline);
  request.set_with_completed_leases(true);
  return Call(request, timeout, wait_for_connection);
}

absl::StatusOr<muster::v1::GetStatusResponse> CoordinatorClient::GetBriefStatus(
    const std::vector<std::string>& incarnations, absl::Duration timeout) {
  muster::v1::GetStatusRequest request;
  request.set_brief(true);
  for (const std::string& incarnation : incarnations) request.add_incarnations(incarnation);
  return Call(request, timeout, /*wait_for_connection=*/true);
}

// Sends the messages as raw bytes, to do without their .proto: the request is empty, and the answer
// is one number.
absl::Status CoordinatorClient::CheckHealth(absl::Duration timeout) {
  if (!stub_->credentials.ok()) return stub_->credentials.status();
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  grpc::GenericStub stub(stub_->channel);
  grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareUnaryCall(&context, kHealthCheck, grpc::ByteBuffer(nullptr, 0), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, /*tag=*/nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (!status.ok()) return FromGrpc(status);
  std::vector<grpc::Slice> slices;
  response.Dump(&slices);
  std::string answer;
  for (const grpc::Slice& slice : slices) {
    answer.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  if (answer == kServing) return absl::OkStatus();
  return absl::UnavailableError("it says that it is not serving, as while it shuts down");
}

absl::StatusOr<muster::v1::ReportExitResponse> CoordinatorClient::ReportExit(
    const std::string& job, const std::string& secret, const std::optional<ProcessEnd>& end,
    const std::string& given_up, bool prints_loss, absl::Duration timeout) {
  muster::v1::ReportExitRequest request;
  request.set_job_id(job);
  request.set_secret(secret);
  if (end) end->signaled ? request.set_signal(end->code) : request.set_exit_code(end->code);
  request.set_given_up(ReplaceUnprintable(TruncateUtf8(given_up, kMaxGivenUpBytes)));
  request.set_told(prints_loss);
  return Call(request, timeout);
}

absl::Status CoordinatorClient::ReportProcessState(const std::string& job,
                                                   const std::string& secret, bool stopped,
                                                   absl::Duration timeout) {
  muster::v1::ReportProcessStateRequest request;
  request.set_job_id(job);
  request.set_secret(secret);
  request.set_state(stopped ? muster::v1::PROCESS_STATE_STOPPED
                            : muster::v1::PROCESS_STATE_RUNNING);
  return Call(request, timeout).status();
}

absl::StatusOr<muster::v1::RequestInquiryResponse> CoordinatorClient::RequestInquiry(
    const muster::v1::RequestInquiryRequest& request, absl::Duration timeout) {
  return Call(request, timeout);
}

absl::Status CoordinatorClient::ReportInquiry(const muster::v1::ReportInquiryRequest& request,
                                              absl::Duration timeout) {
  return Call(request, timeout).status();
}

absl::StatusOr<muster::v1::GetInquiryResponse> CoordinatorClient::GetInquiry(
    const muster::v1::GetInquiryRequest& request, absl::Duration timeout) {
  return Call(request, timeout);
}

}  // namespace muster::launcher
