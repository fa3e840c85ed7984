// Join: which process may have a place, and which waits for one.

#include "server/core/formation/joining.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/api/describe.h"
#include "server/core/api/validation.h"

namespace muster::core {
namespace {

// The most members that a message names.
constexpr size_t kMaxNamed = 4;

PlacementConstraints ConstraintsOf(const JoinRequest& request) {
  return {request.world_size, request.rank, request.local_rank, request.node_rank,
          request.topology};
}

// Makes the error for a process that was started again before its predecessor counts as lost. It
// asks again, and then learns that the job has failed.
absl::Status PlaceUndecided(const Member& holder) {
  return absl::UnavailableError(
      absl::StrCat(holder.Describe(),
                   " still has its place: its connection has ended, and it counts as "
                   "lost soon unless it attaches again"));
}

}  // namespace

uint32_t Joining::WorldSize() const { return epoch() ? epoch()->size() : Places(); }

absl::Status Joining::CheckWorldSize(const Member& member,
                                     const PlacementConstraints& constraints) const {
  if (constraints.world_size > job_.options.limits.max_members) {
    return absl::InvalidArgumentError(
        absl::StrCat("world size ", constraints.world_size, " is over the limit of ",
                     job_.options.limits.max_members,
                     " (musterd --max-members raises it, as far as its ulimit -Hn goes)"));
  }
  // In an elastic job without a flag, the largest number that a joiner names counts.
  const bool by_flag = job_.options.world_size != 0 || job_.options.max_world_size != 0;
  const uint32_t known = job_.elastic() ? (by_flag ? Places() : 0) : WorldSize();
  if (known == 0 || constraints.world_size == 0 || constraints.world_size == known)
    return absl::OkStatus();
  const std::string source = job_.options.max_world_size != 0 ? "musterd --max-world-size"
                             : job_.options.world_size != 0   ? "musterd --world-size"
                                                              : places_.agreed_by();
  return absl::InvalidArgumentError(
      absl::StrCat("world sizes disagree: ", member.Describe(), " expects ", constraints.world_size,
                   " members, ", source, " says ", known,
                   "; give all of them one world size (MUSTER_WORLD_SIZE, musterd --world-size)"));
}

absl::Status Joining::CheckContent(const Member&, const JoinRequest& request) const {
  absl::Status s =
      CheckOptionalName("topology", request.topology, job_.options.limits.max_name_bytes);
  return s.ok() && request.fingerprint ? CheckFacts(*request.fingerprint->facts) : s;
}

absl::Status Joining::CheckJoin(const Member& member, const JoinRequest& request) const {
  if (life_.state() == JobState::kFailed) {
    return absl::AbortedError(absl::StrCat("the job has failed: ", life_.reason()));
  }
  if (life_.state() == JobState::kFinished || member.left()) {
    return absl::FailedPreconditionError(
        "the job is finished: its members have left; another run needs a musterd of its own");
  }
  const PlacementConstraints constraints = ConstraintsOf(request);
  if (absl::Status s = CheckWorldSize(member, constraints); !s.ok()) return s;
  if (epoch() && !job_.elastic()) return RefuseLateJoin(member, constraints);
  const Candidate candidate{member.identity, constraints};
  const uint32_t size = constraints.world_size != 0 ? constraints.world_size : Places();
  const absl::Status s = epoch() ? places_.CheckHolder(member.arrival, candidate)
                                 : places_.Check(member.arrival, candidate, size);
  return s.ok() ? calls_.CanPark(member) : s;
}

absl::Status Joining::RefuseLateJoin(const Member& member,
                                     const PlacementConstraints& constraints) const {
  if (constraints.rank && *constraints.rank < WorldSize()) {
    const Member& holder = *epoch()->members()[*constraints.rank];
    if (!holder.attached() && !holder.gone()) return PlaceUndecided(holder);
    return PlaceTaken(absl::StrCat("rank ", *constraints.rank), holder.Describe(),
                      member.Describe());
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the job is full: all of its ", WorldSize(),
                   " members have joined; another run needs a musterd of its own"));
}

// Lets the later one of two sends of a Join or Rejoin count.
absl::Status Joining::CheckAttempt(const Member& member, const CallContext& call) const {
  if (call.attempt >= member.join_attempt) return absl::OkStatus();
  return absl::CancelledError("a later send of the same call has arrived");
}

absl::Status Joining::Serve(WaiterId id, Member* member, const JoinRequest& request) {
  const absl::Status joined = Join(id, member, request);
  if (!joined.ok()) NoteRefused(member, joined);
  return joined;
}

absl::Status Joining::Join(WaiterId id, Member* member, const JoinRequest& request) {
  if (epoch() && member->rank() && !member->left()) {
    // In an elastic job, the answer names a broken epoch too: the first answer was lost, and Rejoin
    // must name that epoch.
    if (epoch()->broken() && life_.state() != JobState::kReforming) return epoch()->broken_status();
    calls_.Respond(id, epoch()->PlaceOf(*member->rank(), life_.history()));
    return absl::OkStatus();
  }
  if (absl::Status s = CheckJoin(*member, request); !s.ok()) return s;
  if (absl::Status s = CheckAttempt(*member, request.call); !s.ok()) return s;
  const PlacementConstraints constraints = ConstraintsOf(request);
  member->refused = false;
  SeekPlace(id, member, request.call, constraints, /*rejoins=*/false);
  NoteFingerprint(member, request);
  AgreeOnSize(*member, constraints.world_size);
  const std::string of =
      epoch() ? " waiting for a place"
              : absl::StrCat(" of ", Places() == 0 ? "?" : absl::StrCat(Places()), " members");
  job_.Log(Severity::kInfo, absl::StrCat(member->Describe(), " has come: ", places_.size(), of),
           "join");
  return absl::OkStatus();
}

void Joining::NoteFingerprint(Member* member, const JoinRequest& request) {
  if (!request.fingerprint) return;
  member->fingerprint = request.fingerprint;
  member->fingerprint->facts = facts_.Intern(request.fingerprint->facts);
  if (!request.fingerprint->clock) return;
  member->clock_ahead = *request.fingerprint->clock - request.call.since.value_or(job_.now);
}

// Refuses candidates that named their constraints before the size was known, if these do not fit.
void Joining::AgreeOnSize(const Member& member, uint32_t size) {
  if (size <= Places()) return;
  places_.Agree(size, member.Describe());
  if (epoch()) return;
  while (auto wrong = places_.FindOutOfRange(size)) {
    RefuseCandidate(CandidateOf(wrong->first), wrong->second);
  }
}

void Joining::SeekPlace(WaiterId id, Member* member, const CallContext& call,
                        const PlacementConstraints& constraints, bool rejoins) {
  if (const WaiterId older = calls_.parked().JoinOf(*member); older != 0) {
    StopSeeking(member);
    calls_.Finish(older, absl::CancelledError("replaced by a later send of the same call"));
  }
  calls_.Park(id, member, WaitForPlace{rejoins}, call,
              Calls::MakeDescription(rejoins ? "Rejoin" : "Join"));
  member->join_attempt = call.attempt;
  members_.SetSeeks(member, true);
  const Candidate candidate{member->identity, constraints};
  if (places_.Enter(member->arrival, candidate, job_.now + job_.options.member_grace)) {
    const auto conflict = places_.FindConflict(member->arrival, candidate);
    job_.Log(Severity::kWarning, std::string(places_.PlaceTaken(candidate, *conflict).message()));
  }
  stall_.Restart(job_.now);
  NoteChange();
}

void Joining::StopSeeking(Member* member) {
  if (!places_.Has(member->arrival)) return;
  places_.Leave(member->arrival);
  members_.SetSeeks(member, false);
  NoteChange();
}

Member* Joining::CandidateOf(PlacementRequests::Id id) const {
  return members_.Find(places_.candidates().at(id).member.incarnation);
}

void Joining::RefuseCandidate(Member* member, const absl::Status& status) {
  StopSeeking(member);
  NoteRefused(member, status);
  calls_.Finish(calls_.parked().JoinOf(*member), status);
}

// Notes the refusal, so that the end of the process, which follows, is not reported as a loss. If
// the job is over, its own end is the report, and the refusal is logged at debug level.
void Joining::NoteRefused(Member* member, const absl::Status& why) {
  const bool may_ask_again = absl::IsUnavailable(why) || absl::IsCancelled(why);
  if (may_ask_again || member->rank() || std::exchange(member->refused, true)) return;
  const bool over = life_.state() == JobState::kFailed || life_.state() == JobState::kFinished;
  job_.Log(over ? Severity::kDebug : Severity::kWarning,
           absl::StrCat(member->Describe(), " is refused a place: ", why.message()), "refused");
}

std::string Joining::DescribeCandidates() const {
  std::vector<std::string> present;
  for (const auto& [id, candidate] : places_.candidates()) {
    if (present.size() == kMaxNamed) break;
    present.push_back(CandidateOf(id)->Describe());
  }
  const std::vector<uint32_t> missing = places_.UnrequestedRanks(WorldSize());
  return absl::StrCat(missing.empty() ? "" : absl::StrCat("; missing: ", Ranks(missing)),
                      "; present: ", absl::StrJoin(present, ", "),
                      places_.size() > present.size() ? ", ..." : "");
}

void Joining::RefuseCandidates(const absl::Status& why) {
  while (!places_.empty()) {
    RefuseCandidate(CandidateOf(places_.candidates().begin()->first), why);
  }
}

void Joining::NoteChange() {
  changed_ = job_.now;
  if (job_.elastic()) stall_.Restart(job_.now);
}

uint32_t Joining::Places() const {
  const uint32_t flag =
      job_.options.max_world_size != 0 ? job_.options.max_world_size : job_.options.world_size;
  if (flag != 0) return flag;
  return std::max(places_.agreed_size(), epoch() ? epoch()->size() : 0);
}

uint32_t Joining::NewcomersWaiting() const {
  uint32_t waiting = 0;
  for (const auto& [id, candidate] : places_.candidates()) {
    waiting += epoch() && !CandidateOf(id)->rank();
  }
  return waiting;
}

std::optional<PlacementRequests::Decision> Joining::DecideContenders() {
  if (!places_.HasContenders()) return std::nullopt;
  return places_.Decide(job_.now,
                        [this](PlacementRequests::Id id) { return CandidateOf(id)->attached(); });
}

}  // namespace muster::core
