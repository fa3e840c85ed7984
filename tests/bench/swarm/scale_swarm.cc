#include "tests/bench/swarm/scale_swarm.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/credentials/process_secret.h"
#include "common/rpc/grpc_status.h"

namespace muster::testing {
namespace {

constexpr char kJob[] = "default";
constexpr uint32_t kProtocolVersion = 1;

grpc::ByteBuffer Serialize(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

// Returns a channel that shares no connection with others of this process, and reconnects soon
// after the daemon has restarted.
std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  // Also the time-out of a connection attempt: thousands at once take long.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 60000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

void ParseWhole(const grpc::ByteBuffer& bytes, google::protobuf::Message* message) {
  grpc::Slice slice;
  if (!bytes.DumpToSingleSlice(&slice).ok()) return;
  message->ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
}

}  // namespace

std::string SecretOf(int number) { return absl::StrFormat("member%010d", number); }

struct Swarm::Member {
  int number = 0;
  std::string secret;
  v1::MemberIdentity identity;
  v1::CoordinatorService::Stub* streams = nullptr;
  grpc::GenericStub* calls = nullptr;

  v1::SessionId session;
  v1::EpochId epoch;
  uint64_t attempts = 0;
  uint64_t completed = 0;  // the number of completed collectives
  bool names_roster = false;

  std::unique_ptr<grpc::ClientContext> stream_context;
  std::unique_ptr<grpc::ClientAsyncReader<v1::AttachResponse>> stream;
  v1::AttachResponse event;
  grpc::Status stream_status;

  std::string method;
  std::vector<Member*> parts;  // the members that its NodeCollective is for
  std::unique_ptr<grpc::ClientContext> call_context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call;
  grpc::ByteBuffer answer;
  grpc::Status status;

  std::array<Tag, 4> tags;
  Tag* tag(Tag::Kind kind) {
    tags[kind] = {this, kind};
    return &tags[kind];
  }
};

Swarm::Swarm(int first, int count, int world, int per_connection)
    : world_(world), per_connection_(per_connection) {
  for (int number = first; number < first + count; ++number) {
    auto member = std::make_unique<Member>();
    member->number = number;
    member->secret = SecretOf(number);
    v1::MemberIdentity& identity = member->identity;
    identity.set_incarnation(IncarnationOf(member->secret));
    identity.mutable_start_time()->set_seconds(1);
    identity.set_node_id(absl::StrFormat("node-%05d.cluster.example", number / kMembersOfNode));
    identity.set_hostname(identity.node_id());
    identity.set_pid(1000 + number);
    members_.push_back(std::move(member));
  }
  thread_ = std::thread([this] { ReceiveAll(); });
}

Swarm::~Swarm() {
  {
    absl::MutexLock lock(&mutex_);
    for (auto& member : members_) {
      if (member->stream_context != nullptr) member->stream_context->TryCancel();
      if (member->call_context != nullptr) member->call_context->TryCancel();
    }
  }
  queue_.Shutdown();
  thread_.join();
}

v1::AttachRequest Swarm::AttachRequest(Member* member) const {
  v1::AttachRequest request;
  request.set_job_id(kJob);
  *request.mutable_member() = member->identity;
  request.set_secret(member->secret);
  request.set_protocol_version(kProtocolVersion);
  request.set_attempt(++member->attempts);
  if (member->epoch.number() == 0) return request;
  v1::Claim& claim = *request.mutable_claim();
  *claim.mutable_epoch() = member->epoch;
  claim.set_rank(static_cast<uint32_t>(member->number));
  v1::GroupClaim* const world = claim.add_groups();
  world->mutable_group();
  world->set_next_sequence(member->completed);
  claim.set_highest_epoch_number(member->epoch.number());
  return request;
}

v1::CallContext Swarm::CallContext(Member* member) const {
  v1::CallContext call;
  call.set_job_id(kJob);
  *call.mutable_session() = member->session;
  call.set_attempt(++member->attempts);
  return call;
}

v1::CollectiveContext Swarm::CollectiveContext(Member* member) const {
  v1::CollectiveContext context;
  *context.mutable_call() = CallContext(member);
  *context.mutable_epoch() = member->epoch;
  context.set_sequence(member->completed);
  return context;
}

absl::Status Swarm::Attach(const std::string& address) {
  absl::ReleasableMutexLock lock(&mutex_);
  if (streams_.empty()) {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (i % per_connection_ == 0) {
        const std::shared_ptr<grpc::Channel> channel = Connect(address);
        streams_.push_back(v1::CoordinatorService::NewStub(channel));
        calls_.push_back(std::make_unique<grpc::GenericStub>(channel));
      }
      members_[i]->streams = streams_.back().get();
      members_[i]->calls = calls_.back().get();
    }
  }
  progress_ = Progress();
  attaching_ = true;
  const size_t all = members_.size();
  for (auto& member : members_) StartStream(member.get());
  lock.Release();
  const absl::Status attached = Await(&Progress::attached, all);
  absl::MutexLock relock(&mutex_);
  attaching_ = false;
  return attached;
}

absl::Status Swarm::Join() {
  v1::JoinRequest request;
  request.set_world_size(static_cast<uint32_t>(world_));
  const absl::Status joined = CallAll("Join", [&](Member* member) {
    *request.mutable_call() = CallContext(member);
    request.set_rank(static_cast<uint32_t>(member->number));
    return Serialize(request);
  });
  absl::MutexLock lock(&mutex_);
  for (auto& member : members_) member->epoch = roster_.epoch();
  return joined;
}

absl::Status Swarm::Barrier() {
  v1::BarrierRequest request;
  return CallAll("Barrier", [&](Member* member) {
    *request.mutable_context() = CollectiveContext(member);
    return Serialize(request);
  });
}

absl::Status Swarm::AllGather(size_t bytes) {
  v1::AllGatherRequest request;
  request.set_payload(std::string(bytes, 'x'));
  return CallAll("AllGather", [&](Member* member) {
    *request.mutable_context() = CollectiveContext(member);
    return Serialize(request);
  });
}

absl::Status Swarm::BarrierByNode() {
  v1::NodeCollectiveRequest call;
  call.set_kind(v1::COLLECTIVE_KIND_BARRIER);
  return CallByNode(std::move(call), "");
}

absl::Status Swarm::AllGatherByNode(size_t bytes) {
  v1::NodeCollectiveRequest call;
  call.set_kind(v1::COLLECTIVE_KIND_ALL_GATHER);
  return CallByNode(std::move(call), std::string(bytes, 'x'));
}

absl::Status Swarm::CallByNode(v1::NodeCollectiveRequest call, const std::string& payload) {
  absl::ReleasableMutexLock lock(&mutex_);
  progress_ = Progress();
  size_t nodes = 0;
  for (size_t first = 0; first < members_.size(); first += kMembersOfNode, ++nodes) {
    Member* const sender = members_[first].get();
    *call.mutable_context() = CollectiveContext(sender);
    call.clear_parts();
    sender->parts.clear();
    for (size_t i = first; i < std::min(first + kMembersOfNode, members_.size()); ++i) {
      Member* const member = members_[i].get();
      v1::NodeArrival* const part = call.add_parts();
      *part->mutable_session() = member->session;
      part->set_attempt(++member->attempts);
      part->set_payload(payload);
      sender->parts.push_back(member);
    }
    StartCall(sender, "NodeCollective", Serialize(call));
  }
  lock.Release();
  return Await(&Progress::answered, nodes);
}

void Swarm::Park() {
  absl::MutexLock lock(&mutex_);
  progress_ = Progress();
  losing_ = true;
  v1::BarrierRequest request;
  for (auto& member : members_) {
    if (member->number == world_ - 1) continue;
    *request.mutable_context() = CollectiveContext(member.get());
    StartCall(member.get(), "Barrier", Serialize(request));
  }
}

absl::Status Swarm::AwaitLoss() {
  absl::ReleasableMutexLock lock(&mutex_);
  const bool has_lost = members_.back()->number == world_ - 1;
  const size_t survivors = members_.size() - (has_lost ? 1 : 0);
  lock.Release();
  const absl::Status answered = Await(&Progress::answered, survivors);
  return answered.ok() ? Await(&Progress::losses, survivors) : answered;
}

absl::Status Swarm::AwaitEnd() {
  absl::ReleasableMutexLock lock(&mutex_);
  const size_t all = members_.size();
  lock.Release();
  return Await(&Progress::ended, all);
}

int64_t Swarm::TakeBytes() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(bytes_, 0);
}

void Swarm::StartStream(Member* member) {
  v1::AttachRequest request = AttachRequest(member);
  if (member->names_roster) {
    *request.mutable_claim()->mutable_roster() = roster_.roster();
  }
  member->stream_context = std::make_unique<grpc::ClientContext>();
  member->stream_context->set_wait_for_ready(true);
  member->stream =
      member->streams->PrepareAsyncAttach(member->stream_context.get(), request, &queue_);
  member->stream->StartCall(member->tag(Tag::kStarted));
}

void Swarm::StartCall(Member* member, const std::string& method, const grpc::ByteBuffer& request) {
  member->method = method;
  member->call_context = std::make_unique<grpc::ClientContext>();
  member->call = member->calls->PrepareUnaryCall(
      member->call_context.get(), "/muster.v1.CoordinatorService/" + method, request, &queue_);
  member->call->StartCall();
  member->call->Finish(&member->answer, &member->status, member->tag(Tag::kAnswered));
}

absl::Status Swarm::CallAll(const std::string& method, const MakeRequest& request) {
  absl::ReleasableMutexLock lock(&mutex_);
  progress_ = Progress();
  const size_t all = members_.size();
  for (auto& member : members_) StartCall(member.get(), method, request(member.get()));
  lock.Release();
  return Await(&Progress::answered, all);
}

absl::Status Swarm::Await(int Progress::*counter, size_t count) {
  absl::MutexLock lock(&mutex_);
  const auto done = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return progress_.*counter >= static_cast<int>(count) || !progress_.error.ok();
  };
  mutex_.Await(absl::Condition(&done));
  return progress_.error;
}

void Swarm::ReceiveAll() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
    absl::MutexLock lock(&mutex_);
    Handle(*static_cast<Tag*>(tag), ok);
  }
}

void Swarm::Handle(const Tag& tag, bool ok) {
  Member* const member = tag.member;
  if (tag.kind == Tag::kAnswered) return TakeAnswer(member);
  if (tag.kind == Tag::kEnded) return TakeEnd(member);
  if (ok && tag.kind == Tag::kEvent) TakeEvent(member);
  if (ok) {
    member->stream->Read(&member->event, member->tag(Tag::kEvent));
  } else {
    member->stream->Finish(&member->stream_status, member->tag(Tag::kEnded));
  }
}

void Swarm::TakeEvent(Member* member) {
  if (member->event.has_attached()) {
    member->session = member->event.attached().session();
    member->names_roster = false;
    ++progress_.attached;
  }
  if (member->event.has_need_roster()) {
    member->names_roster = true;
    member->stream_context->TryCancel();  // it attaches again when its stream ends
  }
  if (member->event.has_epoch_broken()) ++progress_.losses;
}

void Swarm::TakeEnd(Member* member) {
  member->stream.reset();
  ++progress_.ended;
  const bool away = member->stream_status.error_code() == grpc::StatusCode::UNAVAILABLE;
  if (member->names_roster || (away && attaching_)) return StartStream(member);
  if (!away && !losing_) progress_.error = FromGrpc(member->stream_status);
}

void Swarm::TakeAnswer(Member* member) {
  ++progress_.answered;
  if (!member->status.ok() && !losing_) progress_.error = FromGrpc(member->status);
  if (!member->status.ok()) return;
  bytes_ += static_cast<int64_t>(member->answer.Length());
  if (member->method == "NodeCollective") {
    TakeNodeAnswer(member);
  } else if (member->method != "Join") {
    ++member->completed;
  } else if (member == members_.front().get()) {
    ParseWhole(member->answer, &roster_);
  }
  member->answer.Clear();
}

// An answer with payloads is one of a completed collective.
void Swarm::TakeNodeAnswer(Member* sender) {
  constexpr size_t kWithoutPayloads = 1024;
  v1::NodeCollectiveResponse answer;
  if (sender->answer.Length() < kWithoutPayloads) {
    ParseWhole(sender->answer, &answer);
    if (static_cast<size_t>(answer.completed_size()) != sender->parts.size()) {
      progress_.error = absl::InternalError("the daemon has not taken all of a node");
    }
  }
  for (Member* const member : sender->parts) ++member->completed;
}

}  // namespace muster::testing
