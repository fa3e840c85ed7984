#include "tests/server/service/crowd.h"

#include "absl/strings/str_format.h"
#include "common/credentials/process_secret.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"

namespace muster::testing {
namespace {

constexpr char kJob[] = "default";
constexpr uint32_t kProtocolVersion = 1;
constexpr int kMembersOfNode = 8;

void Notify(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) {
    auto* const operation = static_cast<QueuedOperation*>(tag);
    operation->ok = ok;
    operation->done.Notify();
  }
}

}  // namespace

std::shared_ptr<grpc::Channel> ConnectSlowly(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

Crowd::Crowd(const std::string& address, int size)
    : stub_(v1::CoordinatorService::NewStub(ConnectSlowly(address))),
      members_(size),
      thread_([this] { Notify(&queue_); }) {
  for (int i = 0; i < size; ++i) {
    v1::MemberIdentity& identity = members_[i].identity;
    members_[i].secret = absl::StrFormat("member%010d", i);
    identity.set_incarnation(IncarnationOf(members_[i].secret));
    identity.mutable_start_time()->set_seconds(1);
    identity.set_node_id(absl::StrFormat("node-%04d.cluster.example", i / kMembersOfNode));
    identity.set_hostname(identity.node_id());
    identity.set_pid(1000 + i);
  }
}

Crowd::~Crowd() {
  Disconnect();
  queue_.Shutdown();
  thread_.join();
}

v1::AttachRequest Crowd::AttachRequest(Member* member) const {
  v1::AttachRequest request;
  request.set_job_id(kJob);
  *request.mutable_member() = member->identity;
  request.set_secret(member->secret);
  request.set_protocol_version(kProtocolVersion);
  request.set_attempt(++member->attempts);
  if (member->place.roster().empty()) return request;
  v1::Claim& claim = *request.mutable_claim();
  *claim.mutable_epoch() = member->place.epoch();
  claim.set_rank(member->place.rank());
  // One member lists the roster at once, so that the daemon need not ask for it.
  if (member == &members_.front()) *claim.mutable_roster() = member->place.roster();
  v1::GroupClaim* const world = claim.add_groups();
  world->mutable_group();
  world->set_next_sequence(member->completed);
  claim.set_highest_epoch_number(member->place.epoch().number());
  return request;
}

absl::Status Crowd::Attach() {
  std::vector<QueuedOperation> started(members_.size());
  for (size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    member.stream_context = std::make_unique<grpc::ClientContext>();
    member.stream_context->set_wait_for_ready(true);
    member.stream =
        stub_->PrepareAsyncAttach(member.stream_context.get(), AttachRequest(&member), &queue_);
    member.stream->StartCall(&started[i]);
  }
  for (QueuedOperation& operation : started) operation.Wait();
  for (Member& member : members_) {
    if (absl::Status s = ReadFirstEvent(&member); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status Crowd::ReadFirstEvent(Member* member) {
  QueuedOperation read;
  v1::AttachResponse event;
  member->stream->Read(&event, &read);
  if (!read.Wait()) {
    QueuedOperation ended;
    grpc::Status status;
    member->stream->Finish(&status, &ended);
    ended.Wait();
    member->stream.reset();
    return FromGrpc(status);
  }
  member->session = event.attached().session();
  return absl::OkStatus();
}

void Crowd::Disconnect() {
  for (Member& member : members_) {
    if (member.stream == nullptr) continue;
    member.stream_context->TryCancel();
    QueuedOperation ended;
    grpc::Status status;
    member.stream->Finish(&status, &ended);
    ended.Wait();
    member.stream.reset();
  }
}

v1::CallContext Crowd::CallContext(Member* member) const {
  v1::CallContext call;
  call.set_job_id(kJob);
  *call.mutable_session() = member->session;
  call.set_attempt(++member->attempts);
  return call;
}

absl::Status Crowd::Join() {
  std::vector<std::unique_ptr<UnreadCall<v1::JoinResponse>>> calls;
  for (Member& member : members_) {
    v1::JoinRequest request;
    *request.mutable_call() = CallContext(&member);
    request.set_world_size(static_cast<uint32_t>(members_.size()));
    request.set_rank(static_cast<uint32_t>(calls.size()));
    calls.push_back(std::make_unique<UnreadCall<v1::JoinResponse>>(
        stub_.get(), &Stub::PrepareAsyncJoin, request, &queue_));
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    absl::StatusOr<v1::JoinResponse> place = calls[i]->Read();
    if (!place.ok()) return place.status();
    members_[i].place = *std::move(place);
  }
  return absl::OkStatus();
}

Crowd::AllGatherCall Crowd::SendAllGather(Member* member, uint64_t sequence,
                                          const std::string& payload) {
  v1::AllGatherRequest request;
  *request.mutable_context()->mutable_call() = CallContext(member);
  *request.mutable_context()->mutable_epoch() = member->place.epoch();
  request.mutable_context()->mutable_group();
  request.mutable_context()->set_sequence(sequence);
  request.set_payload(payload);
  return std::make_unique<UnreadCall<v1::AllGatherResponse>>(
      stub_.get(), &Stub::PrepareAsyncAllGather, request, &queue_);
}

Crowd::AllGatherCall Crowd::AllGather(int rank, const std::string& payload) {
  return SendAllGather(&members_[rank], members_[rank].completed++, payload);
}

Crowd::AllGatherCall Crowd::RetryAllGather(int rank, const std::string& payload) {
  return SendAllGather(&members_[rank], members_[rank].completed - 1, payload);
}

std::vector<Crowd::AllGatherCall> Crowd::AllGatherOfAll(const std::string& payload) {
  std::vector<AllGatherCall> calls;
  for (int rank = 0; rank < size(); ++rank) calls.push_back(AllGather(rank, payload));
  for (AllGatherCall& call : calls) call->AwaitAnswer();
  return calls;
}

}  // namespace muster::testing
