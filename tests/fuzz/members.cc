#include "tests/fuzz/members.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/credentials/process_secret.h"
#include "common/names/group_digest.h"

namespace muster::fuzz {
namespace {

constexpr const char* kJob = "job";
constexpr const char* kGroup = "g";

std::string SecretOf(int number) { return std::string(15, 's') + static_cast<char>('0' + number); }

v1::LeaseScope Scope(ByteSource* bytes) {
  return bytes->OneIn(2) ? v1::LEASE_SCOPE_NODE : v1::LEASE_SCOPE_JOB;
}

std::string LeaseName(ByteSource* bytes) { return absl::StrCat("work ", bytes->Below(4)); }

}  // namespace

FuzzedMember::FuzzedMember(int number, const FuzzedJob& job, uint32_t world_size,
                           bool endless_groups)
    : world_size_(world_size),
      commits_on_node_(job.commits_on_node),
      endless_groups_(endless_groups) {
  secret_ = SecretOf(number);
  identity_.set_incarnation(IncarnationOf(secret_));
  identity_.mutable_start_time()->set_seconds(number);
  identity_.set_node_id(
      std::string(1, static_cast<char>('a' + (job.on_one_node ? 0 : number % 2))));
  identity_.set_hostname("host");
  identity_.set_pid(number);
}

v1::CallContext FuzzedMember::NewCall() {
  v1::CallContext call;
  call.set_job_id(kJob);
  if (session_) *call.mutable_session() = *session_;
  call.set_attempt(++attempts_);
  call.mutable_wait_timeout()->set_seconds(60);
  return call;
}

// ---- Coming ----

void FuzzedMember::FillClaim(v1::Claim* claim) const {
  claim->set_highest_token(highest_token_);
  for (const v1::HeldLease& held : held_) *claim->add_held_leases() = held;
  if (!place_) return;
  *claim->mutable_epoch() = place_->epoch();
  claim->set_rank(place_->rank());
  *claim->mutable_roster() = place_->roster();
  claim->set_highest_epoch_number(place_->epoch().number());
  for (const auto& [name, next] : next_) {
    if (!name.empty() && attempts_ % 2 == 0) {
      v1::KnownGroup* known = claim->add_known_groups();
      known->set_digest(DigestOf(name));
      known->set_next_sequence(next);
      known->set_released(attempts_ % 4 == 0);
      continue;
    }
    v1::GroupClaim* group = claim->add_groups();
    group->mutable_group()->set_name(name);
    for (int r = place_->roster_size(); !name.empty() && r > 0; --r) {
      group->mutable_group()->add_ranks(static_cast<uint32_t>(r - 1));
    }
    group->set_next_sequence(next);
  }
  if (!broken_) return;
  claim->mutable_broken()->set_reason(broken_->reason());
  *claim->mutable_broken()->mutable_failures() = broken_->failures();
}

void FuzzedMember::Write(ByteSource* bytes, v1::AttachRequest* request) {
  request->set_job_id(kJob);
  *request->mutable_member() = identity_;
  request->set_secret(secret_);
  request->set_protocol_version(1);
  request->set_attempt(++attempts_);
  request->set_commits_on_node(commits_on_node_);
  FillClaim(request->mutable_claim());
  if (place_ && !std::exchange(must_list_roster_, false) && !bytes->OneIn(4)) {
    request->mutable_claim()->clear_roster();
  }
}

void FuzzedMember::Write(ByteSource*, v1::JoinRequest* request) {
  *request->mutable_call() = NewCall();
  request->set_world_size(world_size_);
}

void FuzzedMember::Write(ByteSource*, v1::RejoinRequest* request) {
  *request->mutable_call() = NewCall();
  FillClaim(request->mutable_claim());
  request->mutable_claim()->clear_roster();
}

void FuzzedMember::Write(ByteSource*, v1::LeaveRequest* request) {
  *request->mutable_call() = NewCall();
  *request->mutable_epoch() = epoch();
}

void FuzzedMember::Write(ByteSource* bytes, v1::ReportExitRequest* request) {
  request->set_job_id(kJob);
  request->set_secret(secret_);
  const size_t how = bytes->Below(4);
  request->set_exit_code(static_cast<int32_t>(how % 2));
  if (how > 1) request->set_given_up("it has failed");
}

void FuzzedMember::Write(ByteSource* bytes, v1::ReportProcessStateRequest* request) {
  request->set_job_id(kJob);
  request->set_secret(secret_);
  request->set_state(bytes->OneIn(2) ? v1::PROCESS_STATE_STOPPED : v1::PROCESS_STATE_RUNNING);
}

// ---- Collectives: of the world, or of a group of all in reverse ----

void FuzzedMember::Fill(ByteSource* bytes, v1::CollectiveContext* context) {
  *context->mutable_call() = NewCall();
  *context->mutable_epoch() = epoch();
  if (bytes->OneIn(4)) context->mutable_group()->set_name(GroupName());
  const std::string& name = context->group().name();
  const bool names_ranks = !name.empty() && !bytes->OneIn(2);
  for (int r = place_ ? place_->roster_size() : 0; names_ranks && r > 0; --r) {
    context->mutable_group()->add_ranks(static_cast<uint32_t>(r - 1));
  }
  context->mutable_group();
  context->set_sequence(next_[name]);
}

void FuzzedMember::Write(ByteSource* bytes, v1::BarrierRequest* request) {
  Fill(bytes, request->mutable_context());
}

void FuzzedMember::Write(ByteSource* bytes, v1::BroadcastRequest* request) {
  Fill(bytes, request->mutable_context());
  if (place_ && place_->rank() == 0) request->set_payload("from 0");
}

void FuzzedMember::Write(ByteSource* bytes, v1::GatherRequest* request) {
  Fill(bytes, request->mutable_context());
  request->set_payload("part");
}

void FuzzedMember::Write(ByteSource* bytes, v1::AllGatherRequest* request) {
  Fill(bytes, request->mutable_context());
  request->set_payload("part");
}

void FuzzedMember::Write(ByteSource* bytes, v1::NodeCollectiveRequest* request) {
  Fill(bytes, request->mutable_context());
  request->set_kind(bytes->OneIn(2) ? v1::COLLECTIVE_KIND_BARRIER : v1::COLLECTIVE_KIND_ALL_GATHER);
  Add(request);
}

void FuzzedMember::Add(v1::NodeCollectiveRequest* request) {
  const v1::CollectiveContext& context = request->context();
  if (!session_ || next_[context.group().name()] != context.sequence()) return;
  v1::NodeArrival* part = request->add_parts();
  *part->mutable_session() = *session_;
  part->set_attempt(++attempts_);
  if (request->kind() == v1::COLLECTIVE_KIND_ALL_GATHER) part->set_payload("part");
}

void FuzzedMember::Write(ByteSource* bytes, v1::WithdrawArrivalRequest* request) {
  v1::CollectiveContext context;
  Fill(bytes, &context);
  *request->mutable_call() = context.call();
  *request->mutable_epoch() = context.epoch();
  *request->mutable_group() = context.group();
  request->set_sequence(context.sequence());
}

void FuzzedMember::Write(ByteSource* bytes, v1::ReportCommitsRequest* request) {
  v1::CollectiveContext next;
  Fill(bytes, &next);
  *request->mutable_call() = next.call();
  *request->mutable_epoch() = next.epoch();
  v1::GroupCommits* const commits = request->add_groups();
  *commits->mutable_group() = next.group();
  for (size_t i = 0, count = 1 + bytes->Below(3); i < count; ++i) {
    v1::NodeCommit* const commit = commits->add_commits();
    commit->set_sequence(next.sequence() + i);
    commit->set_kind(bytes->OneIn(2) ? v1::COLLECTIVE_KIND_ALL_GATHER
                                     : v1::COLLECTIVE_KIND_BARRIER);
    for (int r = 0; place_ && r < place_->roster_size(); ++r) {
      commit->add_delays()->set_nanos(r);
    }
  }
}

void FuzzedMember::LearnCommits(const v1::ReportCommitsRequest& report) {
  if (!place_ || report.epoch().nonce() != place_->epoch().nonce()) return;
  for (const v1::GroupCommits& commits : report.groups()) {
    for (const v1::NodeCommit& commit : commits.commits()) {
      v1::CollectiveContext collective;
      *collective.mutable_group() = commits.group();
      collective.set_sequence(commit.sequence());
      Completed(collective);
    }
  }
}

std::string FuzzedMember::GroupName() const {
  return endless_groups_ ? absl::StrCat(kGroup, groups_) : kGroup;
}

std::vector<std::string> FuzzedMember::DoneGroups() const {
  if (!endless_groups_) return {kGroup};
  std::vector<std::string> done;
  for (const auto& [name, next] : next_) {
    const bool may_call = name.empty() || name == GroupName();
    if (!may_call && closed_.count(name) == 0) done.push_back(name);
  }
  return done;
}

std::string FuzzedMember::DigestOf(const std::string& group) const {
  std::vector<uint32_t> ranks;
  for (int r = place_ ? place_->roster_size() : 0; r > 0; --r) {
    ranks.push_back(static_cast<uint32_t>(r - 1));
  }
  return GroupDigest(group, ranks);
}

std::string FuzzedMember::FindGroup(const std::string& digest) const {
  for (const auto& [name, next] : next_) {
    if (!name.empty() && DigestOf(name) == digest) return name;
  }
  return "";
}

void FuzzedMember::Forget(const std::string& digest) {
  const std::string name = FindGroup(digest);
  if (name.empty()) return;
  next_.erase(name);
  closed_.erase(name);
}

void FuzzedMember::Write(ByteSource* bytes, v1::ReleaseGroupsRequest* request) {
  *request->mutable_call() = NewCall();
  *request->mutable_epoch() = epoch();
  const bool releases = !bytes->OneIn(4);
  const bool acknowledges = bytes->OneIn(2);
  for (const std::string& name : DoneGroups()) {
    if (!releases) break;
    v1::ReleasedGroup* const released = request->add_released();
    released->set_digest(DigestOf(name));
    released->set_next_sequence(next_[name]);
  }
  if (!acknowledges) return;
  if (!endless_groups_) request->add_closed(DigestOf(kGroup));
  for (const std::string& name : closed_) request->add_closed(DigestOf(name));
}

void FuzzedMember::Learn(const v1::GroupsClosed& closings) {
  if (!endless_groups_) {
    if (closings.closed_size() > 0) next_.erase(kGroup);
    return;
  }
  for (const std::string& digest : closings.closed()) {
    const std::string name = FindGroup(digest);
    if (!name.empty()) closed_.insert(name);
  }
  for (const std::string& digest : closings.settled()) Forget(digest);
}

void FuzzedMember::Learn(const v1::ReleaseGroupsRequest&,
                         const v1::ReleaseGroupsResponse& response) {
  if (!endless_groups_) return;
  for (const std::string& digest : response.settled()) Forget(digest);
}

// ---- Leases ----

void FuzzedMember::Write(ByteSource* bytes, v1::AcquireLeaseRequest* request) {
  *request->mutable_call() = NewCall();
  *request->mutable_epoch() = epoch();
  request->set_name(LeaseName(bytes));
  request->set_scope(Scope(bytes));
  request->set_request_id(++requests_);
}

void FuzzedMember::Write(ByteSource* bytes, v1::CompleteLeaseRequest* request) {
  *request->mutable_call() = NewCall();
  request->set_name("work");
  request->set_scope(v1::LEASE_SCOPE_JOB);
  if (!held_.empty()) {
    const v1::HeldLease& held = bytes->Pick(held_);
    request->set_name(held.name());
    request->set_scope(held.scope());
    request->mutable_result()->set_token(held.token());
  }
  if (bytes->OneIn(2)) {
    request->mutable_result()->set_value("done");
  } else {
    request->mutable_result()->mutable_error()->set_code(13);
    request->mutable_result()->mutable_error()->set_message("failed");
  }
}

void FuzzedMember::Write(ByteSource* bytes, v1::AbandonLeaseRequest* request) {
  *request->mutable_call() = NewCall();
  request->set_name(LeaseName(bytes));
  request->set_scope(Scope(bytes));
  request->set_request_id(requests_);
}

// ---- Answers ----

void FuzzedMember::Learn(const v1::JoinResponse& place) {
  place_ = place;
  groups_ = 0;
  next_.clear();
  closed_.clear();
  broken_.reset();
}

void FuzzedMember::Learn(const v1::EpochBroken& broken) {
  if (place_ && place_->epoch().nonce() == broken.epoch().nonce()) broken_ = broken;
}

void FuzzedMember::Completed(const v1::CollectiveContext& collective) {
  uint64_t& next = next_[collective.group().name()];
  if (collective.sequence() == next) ++next;
  if (endless_groups_ && collective.group().name() == GroupName()) ++groups_;
}

void FuzzedMember::Learn(const v1::AcquireLeaseRequest& request,
                         const v1::AcquireLeaseResponse& response) {
  if (!response.has_granted()) return;
  const v1::LeaseGrant& grant = response.granted();
  highest_token_ = std::max(highest_token_, grant.token());
  v1::HeldLease held;
  held.set_name(request.name());
  held.set_scope(request.scope());
  held.set_token(grant.token());
  held.set_request_id(request.request_id());
  held_.push_back(held);
}

}  // namespace muster::fuzz
