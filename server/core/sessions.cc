// Attach and detach of members.

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

constexpr size_t kIncarnationBytes = 16;

}  // namespace

std::string Member::who() const { return Who(rank, identity); }

absl::Status Coordinator::Impl::CheckIdentity(const MemberIdentity& member) const {
  const uint32_t max = options_.limits.max_name_bytes;
  if (member.incarnation.size() != kIncarnationBytes) {
    return absl::InvalidArgumentError(absl::StrCat("incarnation has ", member.incarnation.size(),
                                                   " bytes; expected ", kIncarnationBytes));
  }
  if (absl::Status s = ValidateName("node_id", member.node_id, max); !s.ok()) return s;
  if (member.hostname.empty()) return absl::OkStatus();
  return ValidateName("hostname", member.hostname, max);
}

absl::Status Coordinator::Impl::CheckAttach(const AttachRequest& request) const {
  if (draining_) return absl::UnavailableError(*draining_);
  const uint32_t max = options_.limits.max_name_bytes;
  if (absl::Status s = ValidateName("job_id", request.job_id, max); !s.ok()) return s;
  if (absl::Status s = CheckJob(request.job_id); !s.ok()) return s;
  if (request.protocol_version != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "versions do not fit: SDK ", request.sdk_version, " speaks protocol ",
        request.protocol_version, ", musterd ", options_.daemon_version, " speaks protocol ",
        kProtocolVersion, "; use releases of one protocol version"));
  }
  if (absl::Status s = CheckIdentity(request.member); !s.ok()) return s;
  return request.claim ? CheckClaim(request.member, *request.claim) : absl::OkStatus();
}

absl::Status Coordinator::Impl::Attach(WaiterId stream, const AttachRequest& request) {
  if (absl::Status s = CheckAttach(request); !s.ok()) return s;
  absl::StatusOr<Member*> member = Admit(request);
  if (!member.ok()) return member.status();
  StartSession(*member, stream, request);
  return absl::OkStatus();
}

// The member that the request comes from: a known one, or a new one if there is room.
absl::StatusOr<Member*> Coordinator::Impl::Admit(const AttachRequest& request) {
  const Incarnation& incarnation = request.member.incarnation;
  const auto known = members_.find(incarnation);
  if (known != members_.end() && request.attempt < known->second->attach_attempt) {
    return absl::CancelledError("a later Attach of this process has arrived");
  }
  if (request.claim && request.claim->epoch) {
    if (absl::Status s = ConsiderClaimedEpoch(request.member, *request.claim); !s.ok()) return s;
  }
  const auto it = members_.find(incarnation);
  if (it != members_.end()) {
    Member* member = it->second.get();
    if (!member->lost) return member;
    return absl::AbortedError(
        absl::StrCat("this process, ", member->who(), ", was lost: ", member->lost->cause));
  }
  if (request.epoch && !request.claim) {
    return absl::AbortedError(absl::StrCat(
        "this daemon does not know epoch ", request.epoch->number,
        ": it was started after that epoch formed, or serves another one; restart the job"));
  }
  if (members_.size() >= options_.limits.max_members) {
    return absl::ResourceExhaustedError(
        absl::StrCat(members_.size(),
                     " members are attached, the limit (musterd --max-members raises it, as far as "
                     "its ulimit -Hn goes)"));
  }
  return AddMember(request.member);
}

Member* Coordinator::Impl::AddMember(const MemberIdentity& identity) {
  auto member = std::make_unique<Member>();
  member->identity = identity;
  member->arrival = ++arrivals_;
  member->last_call = now_;
  return members_.emplace(identity.incarnation, std::move(member)).first->second.get();
}

void Coordinator::Impl::StartSession(Member* member, WaiterId stream,
                                     const AttachRequest& request) {
  const bool again = !member->awaited();
  if (again) EndSession(member);
  member->session = {options_.instance, ++last_session_};
  member->attach_attempt = request.attempt;
  member->stream = stream;
  member->last_call = now_;
  member->asked.clear();
  sessions_[member->session.counter] = member;
  streams_[stream] = member;
  member->stopped_since.reset();
  graces_.Clear(member->identity.incarnation);
  Attached attached{member->session, {}, recovering()};
  if (request.claim) attached.standing_tokens = AdoptLeases(member, *request.claim);
  Send(member, std::move(attached));
  Log(again ? Severity::kInfo : Severity::kDebug,
      absl::StrCat(member->who(), again ? " attached again" : " attached"));
  if (epoch_ && member->rank && !epoch_->broken.ok()) SendBroken(member, /*urgent=*/false);
  if (request.claim) ApplyClaim(member, *request.claim);
  if (announced_.waiting > 0 && member->rank && epoch_ && announced_.epoch == epoch_->id) {
    Send(member, NewcomersWaiting{epoch_->id, announced_.waiting, announced_.free_places});
  }
  if (recovering()) recovery_stall_.Restart(now_);
  TryEndRecovery();
  ResolveContenders();
  GrantLeases();
}

// Its stream ends, and so do its parked calls, whose replies nobody would look at.
void Coordinator::Impl::EndSession(Member* member) {
  sessions_.erase(member->session.counter);
  FinishAllOf(member, absl::UnavailableError("the process has attached again; repeat the call"));
  if (member->attached()) {
    EndStream(member, absl::AbortedError("replaced by a newer session of the same process"));
  }
}

void Coordinator::Impl::EndStream(Member* member, const absl::Status& status) {
  streams_.erase(member->stream);
  effects_.ends.push_back({std::exchange(member->stream, 0), Say(status)});
}

void Coordinator::Impl::StreamClosed(WaiterId stream) {
  const auto it = streams_.find(stream);
  if (it == streams_.end()) return;  // of an older session, or ended by us
  Member* member = it->second;
  streams_.erase(it);
  member->stream = 0;
  member->activity.CutOff(now_);
  if (member->gone()) return;
  if (member->rank && state_ == JobState::kFailed) {
    MarkLeft(member);  // it was told of the failure and has gone
    return TryEndRecovery();
  }
  Log(Severity::kWarning,
      absl::StrCat(member->who(), " is detached: its connection ended; lost in ",
                   absl::FormatDuration(options_.member_grace), " unless it attaches again"));
  graces_.Set(member->identity.incarnation, now_ + options_.member_grace);
  ExpireGraces();
}

// A member that is in no epoch is forgotten; its place is free.
void Coordinator::Impl::Remove(Member* member) {
  sessions_.erase(member->session.counter);
  graces_.Clear(member->identity.incarnation);
  members_.erase(Incarnation(member->identity.incarnation));
}

}  // namespace muster::core
