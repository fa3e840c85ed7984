#include "tests/server/service/test_member.h"

#include <unistd.h>

#include <utility>

#include "absl/time/clock.h"
#include "common/credentials/process_secret.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"
#include "gtest/gtest.h"

namespace muster::testing {
namespace {

constexpr uint32_t kProtocolVersion = 1;
constexpr absl::Duration kPoll = absl::Milliseconds(2);
constexpr absl::Duration kStateTimeout = absl::Seconds(60);
constexpr absl::Duration kDeadlineSlack = absl::Seconds(30);

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

absl::StatusOr<v1::GetStatusResponse> GetStatus(Stub* stub, const std::string& job,
                                                bool with_timeline) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kDeadlineSlack));
  v1::GetStatusRequest request;
  request.set_job_id(job);
  request.set_with_timeline(with_timeline);
  request.set_with_completed_leases(true);
  v1::GetStatusResponse response;
  const grpc::Status status = stub->GetStatus(&context, request, &response);
  if (!status.ok()) return FromGrpc(status);
  return response;
}

void AwaitStatus(Stub* stub, const std::function<bool(const v1::GetStatusResponse&)>& reached) {
  const absl::Time deadline = absl::Now() + kStateTimeout;
  while (true) {
    const absl::StatusOr<v1::GetStatusResponse> status = GetStatus(stub);
    ASSERT_TRUE(status.ok()) << status.status();
    if (reached(*status)) return;
    ASSERT_LT(absl::Now(), deadline) << "still: " << status->DebugString();
    absl::SleepFor(kPoll);
  }
}

TestMember::TestMember(const std::shared_ptr<grpc::Channel>& channel, Options options)
    : options_(std::move(options)),
      secret_(NewProcessSecret()),
      stub_(v1::CoordinatorService::NewStub(channel)) {
  identity_.set_incarnation(IncarnationOf(secret_));
  identity_.mutable_start_time()->set_seconds(options_.start_time_seconds);
  identity_.set_node_id(options_.node);
  identity_.set_hostname("host-of-" + options_.node);
  identity_.set_pid(getpid());
}

TestMember::~TestMember() { Disconnect(); }

v1::AttachRequest TestMember::AttachRequest() const {
  v1::AttachRequest request;
  request.set_job_id(options_.job);
  *request.mutable_member() = identity_;
  request.set_secret(secret_);
  request.set_protocol_version(kProtocolVersion);
  request.set_sdk_version("0.1.0");
  return request;
}

absl::Status TestMember::Attach(const v1::AttachRequest& request) {
  stream_context_ = std::make_unique<grpc::ClientContext>();
  stream_context_->set_wait_for_ready(waits_for_daemon_);
  stream_ = stub_->Attach(stream_context_.get(), request);
  const absl::StatusOr<v1::AttachResponse> first = NextEvent();
  if (!first.ok()) return first.status();
  if (first->has_need_roster()) {
    v1::AttachRequest with_roster = request;
    *with_roster.mutable_claim()->mutable_roster() = joined_.roster();
    Disconnect();
    return Attach(with_roster);
  }
  if (!first->has_attached()) return absl::InternalError("first event: " + first->DebugString());
  attached_ = first->attached();
  return absl::OkStatus();
}

absl::Status TestMember::AttachWhenReachable() {
  waits_for_daemon_ = true;
  absl::Status status = Attach();
  waits_for_daemon_ = false;
  return status;
}

absl::Status TestMember::AttachAgain() {
  Disconnect();
  const absl::Time give_up = absl::Now() + options_.wait_timeout;
  while (true) {
    v1::AttachRequest request = AttachRequest();
    *request.mutable_claim() = Claim();
    request.set_attempt(++attempts_);
    const absl::Status status = Attach(request);
    if (!absl::IsUnavailable(status) || absl::Now() > give_up) return status;
  }
}

v1::Claim TestMember::Claim() const {
  v1::Claim claim;
  *claim.mutable_epoch() = joined_.epoch();
  claim.set_rank(joined_.rank());
  claim.add_groups()->set_next_sequence(sequence_);
  claim.mutable_groups(0)->mutable_group();
  claim.set_highest_epoch_number(joined_.epoch().number());
  return claim;
}

absl::StatusOr<v1::AttachResponse> TestMember::NextEvent() {
  v1::AttachResponse event;
  if (stream_->Read(&event)) return event;
  const grpc::Status status = stream_->Finish();
  stream_.reset();
  if (status.ok()) return absl::OutOfRangeError("the stream has ended well");
  return FromGrpc(status);
}

void TestMember::Disconnect() {
  if (stream_ == nullptr) return;
  stream_context_->TryCancel();
  while (NextEvent().ok()) {
  }
}

v1::CallContext TestMember::CallContext() {
  v1::CallContext call;
  call.set_job_id(options_.job);
  *call.mutable_session() = attached_.session();
  call.set_attempt(++attempts_);
  call.mutable_wait_timeout()->set_seconds(absl::ToInt64Seconds(options_.wait_timeout));
  call.mutable_wait_timeout()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(options_.wait_timeout % absl::Seconds(1))));
  return call;
}

v1::CollectiveContext TestMember::CollectiveContext() {
  v1::CollectiveContext context;
  *context.mutable_call() = CallContext();
  *context.mutable_epoch() = joined_.epoch();
  context.set_sequence(sequence_);
  return context;
}

void TestMember::SetDeadline(grpc::ClientContext* context) const {
  context->set_deadline(absl::ToChronoTime(absl::Now() + options_.wait_timeout + kDeadlineSlack));
}

template <typename Response>
absl::StatusOr<Response> TestMember::Completed(absl::StatusOr<Response> result) {
  if (result.ok()) ++sequence_;
  return result;
}

absl::StatusOr<v1::JoinResponse> TestMember::Join(uint32_t world_size) {
  v1::JoinRequest request;
  *request.mutable_call() = CallContext();
  request.set_world_size(world_size);
  absl::StatusOr<v1::JoinResponse> response = Call(&Stub::Join, request);
  if (response.ok()) joined_ = *response;
  return response;
}

absl::StatusOr<v1::RejoinResponse> TestMember::Rejoin() {
  v1::RejoinRequest request;
  *request.mutable_call() = CallContext();
  *request.mutable_claim() = Claim();
  absl::StatusOr<v1::RejoinResponse> response = Call(&Stub::Rejoin, request);
  if (!response.ok()) return response;
  *joined_.mutable_epoch() = response->epoch();
  joined_.set_rank(response->rank());
  *joined_.mutable_roster() = response->roster();
  sequence_ = 0;
  return response;
}

absl::Status TestMember::Barrier(const std::string& label) {
  v1::BarrierRequest request;
  *request.mutable_context() = CollectiveContext();
  request.mutable_context()->set_label(label);
  return Completed(Call(&Stub::Barrier, request)).status();
}

absl::StatusOr<std::string> TestMember::Broadcast(uint32_t root, const std::string& payload) {
  v1::BroadcastRequest request;
  *request.mutable_context() = CollectiveContext();
  request.set_root(root);
  request.set_payload(payload);
  const absl::StatusOr<v1::BroadcastResponse> response = Completed(Call(&Stub::Broadcast, request));
  if (!response.ok()) return response.status();
  return response->payload();
}

absl::StatusOr<v1::GatherResponse> TestMember::Gather(uint32_t root, const std::string& payload) {
  v1::GatherRequest request;
  *request.mutable_context() = CollectiveContext();
  request.set_root(root);
  request.set_payload(payload);
  return Completed(Call(&Stub::Gather, request));
}

absl::StatusOr<v1::AllGatherResponse> TestMember::AllGather(const std::string& payload) {
  v1::AllGatherRequest request;
  *request.mutable_context() = CollectiveContext();
  request.set_payload(payload);
  return Completed(Call(&Stub::AllGather, request));
}

absl::StatusOr<v1::AcquireLeaseResponse> TestMember::AcquireLease(const std::string& name,
                                                                  uint64_t request_id) {
  v1::AcquireLeaseRequest request;
  *request.mutable_call() = CallContext();
  *request.mutable_epoch() = joined_.epoch();
  request.set_name(name);
  request.set_scope(v1::LEASE_SCOPE_JOB);
  request.set_request_id(request_id);
  return Call(&Stub::AcquireLease, request);
}

absl::Status TestMember::CompleteLease(const std::string& name, uint64_t token,
                                       const std::string& value) {
  v1::CompleteLeaseRequest request;
  *request.mutable_call() = CallContext();
  request.set_name(name);
  request.set_scope(v1::LEASE_SCOPE_JOB);
  request.mutable_result()->set_token(token);
  request.mutable_result()->set_value(value);
  return Call(&Stub::CompleteLease, request).status();
}

absl::Status TestMember::AbandonLease(const std::string& name, uint64_t request_id) {
  v1::AbandonLeaseRequest request;
  *request.mutable_call() = CallContext();
  request.set_name(name);
  request.set_scope(v1::LEASE_SCOPE_JOB);
  request.set_request_id(request_id);
  return Call(&Stub::AbandonLease, request).status();
}

absl::Status TestMember::Leave() {
  v1::LeaveRequest request;
  *request.mutable_call() = CallContext();
  *request.mutable_epoch() = joined_.epoch();
  return Call(&Stub::Leave, request).status();
}

}  // namespace muster::testing
