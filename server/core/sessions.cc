// Attach, detach and loss of members.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

constexpr size_t kIncarnationBytes = 16;
constexpr size_t kMaxFailuresKept = 64;

}  // namespace

std::string Member::who() const { return Who(rank, identity); }

absl::Status Coordinator::Impl::CheckAttach(const AttachRequest& request) const {
  if (draining_) return absl::UnavailableError(*draining_);
  const MemberIdentity& member = request.member;
  const uint32_t max = options_.limits.max_name_bytes;
  if (absl::Status s = ValidateName("job_id", request.job_id, max); !s.ok()) return s;
  if (absl::Status s = CheckJob(request.job_id); !s.ok()) return s;
  if (request.protocol_version != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "versions do not fit: SDK ", request.sdk_version, " speaks protocol ",
        request.protocol_version, ", musterd ", options_.daemon_version, " speaks protocol ",
        kProtocolVersion, "; use releases of one protocol version"));
  }
  if (member.incarnation.size() != kIncarnationBytes) {
    return absl::InvalidArgumentError(absl::StrCat("incarnation has ", member.incarnation.size(),
                                                   " bytes; expected ", kIncarnationBytes));
  }
  if (absl::Status s = ValidateName("node_id", member.node_id, max); !s.ok()) return s;
  if (member.hostname.empty()) return absl::OkStatus();
  return ValidateName("hostname", member.hostname, max);
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
  const auto it = members_.find(request.member.incarnation);
  if (it != members_.end()) {
    Member* member = it->second.get();
    if (request.attempt < member->attach_attempt) {
      return absl::CancelledError("a later Attach of this process has arrived");
    }
    if (!member->lost) return member;
    return absl::AbortedError(
        absl::StrCat("this process, ", member->who(), ", was lost: ", member->lost->cause));
  }
  if (request.epoch) {
    return absl::AbortedError(absl::StrCat(
        "this daemon does not know epoch ", request.epoch->number,
        ": it was started after that epoch formed, or serves another one; restart the job"));
  }
  if (members_.size() >= options_.limits.max_members) {
    return absl::ResourceExhaustedError(absl::StrCat(
        members_.size(), " members are attached, the limit (musterd --max-members raises it)"));
  }
  auto member = std::make_unique<Member>();
  member->identity = request.member;
  member->arrival = ++arrivals_;
  return members_.emplace(request.member.incarnation, std::move(member)).first->second.get();
}

// Ends the older session: its stream, and its parked calls, whose replies nobody would look at.
void Coordinator::Impl::StartSession(Member* member, WaiterId stream,
                                     const AttachRequest& request) {
  const bool again = member->session.counter != 0;
  if (again) {
    sessions_.erase(member->session.counter);
    FinishAllOf(member, absl::UnavailableError("the process has attached again; repeat the call"));
    if (member->attached()) {
      EndStream(member, absl::AbortedError("replaced by a newer session of the same process"));
    }
  }
  member->session = {options_.instance, ++last_session_};
  member->attach_attempt = request.attempt;
  member->stream = stream;
  member->last_call = now_;
  sessions_[member->session.counter] = member;
  streams_[stream] = member;
  graces_.Clear(member->identity.incarnation);
  effects_.events.push_back({stream, Attached{member->session}});
  Log(again ? Severity::kInfo : Severity::kDebug,
      absl::StrCat(member->who(), again ? " attached again" : " attached"));
  if (epoch_ && member->rank && !epoch_->broken.ok()) SendBroken(member);
  ResolveContenders();
  GrantLeases();
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
  if (member->left || member->lost) return;
  if (member->rank && state_ == JobState::kFailed) {
    MarkLeft(member);  // it was told of the failure and has gone
    return;
  }
  Log(Severity::kWarning,
      absl::StrCat(member->who(), " is detached: its connection ended; lost in ",
                   absl::FormatDuration(options_.member_grace), " unless it attaches again"));
  graces_.Set(member->identity.incarnation, now_ + options_.member_grace);
  ExpireGraces();
}

void Coordinator::Impl::ExpireGraces() {
  std::vector<Loss> losses;
  while (std::optional<Incarnation> incarnation = graces_.Pop(now_)) {
    losses.emplace_back(members_.at(*incarnation).get(),
                        absl::StrCat("its connection ended (process died, node down or network "
                                     "cut) and it did not come back within ",
                                     absl::FormatDuration(options_.member_grace)));
  }
  if (!losses.empty()) Lose(losses);
}

absl::Status Coordinator::Impl::ReportExit(WaiterId waiter, const ExitReport& report) {
  if (draining_) return absl::UnavailableError(*draining_);
  if (report.job_id.empty()) return absl::InvalidArgumentError("job_id is empty");
  if (absl::Status s = CheckJob(report.job_id); !s.ok()) return s;
  if (report.incarnation.size() != kIncarnationBytes) {
    return absl::InvalidArgumentError(absl::StrCat("incarnation has ", report.incarnation.size(),
                                                   " bytes; expected ", kIncarnationBytes));
  }
  Respond(waiter);
  const auto it = members_.find(report.incarnation);
  if (it == members_.end()) return absl::OkStatus();
  Member* member = it->second.get();
  if (member->left || member->lost) return absl::OkStatus();
  if (member->rank && state_ == JobState::kFailed) {
    Log(Severity::kWarning, absl::StrCat(member->who(), " ended after the failure: ",
                                         ExitWords(report.signaled, report.code)));
    MarkLeft(member);
    return absl::OkStatus();
  }
  const bool clean = !report.signaled && report.code == 0;
  Lose({{member, absl::StrCat(ExitWords(report.signaled, report.code),
                              clean ? " without leaving the job" : "")}});
  return absl::OkStatus();
}

void Coordinator::Impl::Lose(const std::vector<Loss>& losses) {
  std::vector<Member*> of_epoch;
  for (const auto& [member, cause] : losses) {
    if (member->left || member->lost) continue;
    RecordLoss(member, cause);
    if (member->rank) {
      of_epoch.push_back(member);
    } else {
      Remove(member);
    }
  }
  if (!of_epoch.empty() && epoch_->broken.ok()) Break(of_epoch);
  TryFinishLeaving();
  ResolveContenders();
}

void Coordinator::Impl::RecordLoss(Member* member, const std::string& cause) {
  const absl::Status status =
      absl::AbortedError(absl::StrCat("this process, ", member->who(), ", was lost: ", cause));
  graces_.Clear(member->identity.incarnation);
  FinishAllOf(member, status);
  if (member->attached()) EndStream(member, status);
  leases_.Forget(member->identity.incarnation);
  member->lost = Failure{member->rank, member->identity, cause, now_};
  failures_.push_front(*member->lost);
  if (failures_.size() > kMaxFailuresKept) failures_.pop_back();
  Log(Severity::kError, absl::StrCat(member->who(), " was lost: ", cause));
}

// A member that is in no epoch is forgotten; its place is free.
void Coordinator::Impl::Remove(Member* member) {
  sessions_.erase(member->session.counter);
  members_.erase(Incarnation(member->identity.incarnation));
}

void Coordinator::Impl::Break(const std::vector<Member*>& lost) {
  const Member& first = *lost.front();
  reason_ = absl::StrCat(first.who(), " was lost at ",
                         absl::FormatTime("%H:%M:%E3SZ", first.lost->when, absl::UTCTimeZone()),
                         ": ", first.lost->cause,
                         first.last_collective.empty()
                             ? ""
                             : absl::StrCat("; its last call was ", first.last_collective));
  if (lost.size() > 1) {
    std::vector<uint32_t> others;
    for (const Member* member : lost) others.push_back(*member->rank);
    others.erase(others.begin());
    std::sort(others.begin(), others.end());
    absl::StrAppend(&reason_, "; also lost: ", Ranks(others));
  }
  state_ = JobState::kFailed;
  epoch_->broken = absl::AbortedError(reason_);
  Log(Severity::kError, absl::StrCat("the job has failed: ", reason_));
  for (Member* member : epoch_->members) {
    if (member->lost || member->left) continue;
    if (member->leaving) MarkLeft(member);
    FinishAllOf(member, epoch_->broken);
    if (member->attached()) SendBroken(member);
  }
}

void Coordinator::Impl::SendBroken(Member* member) {
  EpochBroken event{epoch_->id, Say(reason_), {}};
  for (const Member* other : epoch_->members) {
    if (other->lost) event.failures.push_back(*other->lost);
  }
  effects_.events.push_back({member->stream, std::move(event)});
}

}  // namespace muster::core
