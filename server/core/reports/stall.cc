// Stall reports: a line in the log, and an event for the waiting members, if no member arrives for
// a while.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"
#include "server/core/collectives/collectives.h"
#include "server/core/job/member_state.h"
#include "server/core/reports/stall_reports.h"

namespace muster::core {
namespace {

// A wait is unusual if no rank has arrived for this many times the longest such wait so far, and
// for at least kLeastUnusual.
constexpr int kUnusually = 10;
// For waits that have no usual length.
constexpr absl::Duration kNotKnown = absl::InfiniteDuration();

absl::Duration Unusual(const CollectiveGroup& group) {
  return std::max(kLeastUnusual, kUnusually * group.current().SlowestSoFar());
}

}  // namespace

StallReports::StallReports(JobContext& job, const Lifecycle& life, const Calls& calls,
                           StallWatch& stalls, Joining& joining, const Forming& forming,
                           Membership& membership, Recovery& recovery,
                           StatusReporter& status_reporter)
    : job_(job),
      life_(life),
      calls_(calls),
      stalls_(stalls),
      joining_(joining),
      forming_(forming),
      membership_(membership),
      recovery_(recovery),
      status_reporter_(status_reporter) {}

void StallReports::Check() {
  if (stalls_.next() > job_.now) return;
  stalls_.SetNext(life_.recovering()
                      ? CheckRecovery()
                      : std::min({CheckCollectives(), CheckLeave(), CheckForming()}));
}

Time StallReports::CheckStall(StallClock* clock, absl::Duration unusual,
                              absl::FunctionRef<Stall()> describe) {
  if (clock->Next(job_.options.stall_warning, unusual) <= job_.now) {
    clock->NoteReported(job_.now);
    Announce(describe());
  }
  return clock->Next(job_.options.stall_warning, unusual);
}

Time StallReports::CheckRecovery() {
  return CheckStall(&recovery_.stall(), kNotKnown, [this] { return StalledRecovery(); });
}

Time StallReports::CheckCollectives() {
  Time next = absl::InfiniteFuture();
  if (!epoch() || epoch()->broken()) return next;
  for (const auto& entry : epoch()->groups()) {
    const auto& group = entry.second;
    if (!group->current().pending()) continue;
    const Time of_group =
        CheckStall(group->stall(), Unusual(*group), [&] { return StalledCollective(*group); });
    // The next collective may be one that is usually faster.
    next = std::min({next, of_group, job_.now + kLeastUnusual});
  }
  return next;
}

Time StallReports::CheckLeave() {
  if (!epoch() || epoch()->broken()) return absl::InfiniteFuture();
  const auto waits = [this](const Member* m) { return calls_.parked().LeaveOf(*m) != 0; };
  const auto& members = epoch()->members();
  if (std::none_of(members.begin(), members.end(), waits)) return absl::InfiniteFuture();
  return CheckStall(&membership_.leave_stall(), kNotKnown, [this] { return StalledLeave(); });
}

Time StallReports::CheckForming() {
  if (!life_.forming() || joining_.places().empty()) return absl::InfiniteFuture();
  return CheckStall(&joining_.stall(), kNotKnown, [this] { return StalledForming(); });
}

void StallReports::Announce(const Stall& stall) {
  const absl::Duration waited = job_.now - stall.since;
  const std::string text = absl::StrCat(stall.operation, " has waited ", DescribeDuration(waited),
                                        stall.usual, "; ", stall.why);
  job_.Log(Severity::kWarning, text);
  ++job_.tally.counters.stall_warnings;
  StillWaiting event;
  if (epoch() && !epoch()->broken()) event.epoch = epoch()->id();
  event.operation = stall.operation;
  event.waited = waited;
  event.text = text;
  event.missing = std::make_shared<const std::vector<MissingMember>>(stall.missing);
  event.gave_up = std::make_shared<const std::vector<MissingMember>>(stall.gave_up);
  const SharedEvent shared = job_.out.Share(std::move(event));
  for (const Member* member : stall.waiting) job_.Send(*member, shared);
  status_reporter_.Inquire(absl::StrCat(stall.operation, " has waited ", DescribeDuration(waited)));
}

StallReports::Stall StallReports::StalledCollective(const CollectiveGroup& group) const {
  const CurrentCollective& current = group.current();
  Stall stall;
  stall.operation = DescribeStep(current.PendingOperation(), current.sequence(), group.name());
  stall.since = current.first_arrival();
  if (const absl::Duration slowest = current.SlowestSoFar(); slowest < absl::InfiniteDuration()) {
    stall.usual = absl::StrCat(", the slowest before ", DescribeDuration(slowest));
  }
  const Absentees absent = current.Absent();
  stall.why = DescribeAbsentees(*epoch(), absent, group.ranks().size(), job_.now);
  stall.missing = MissingMembers(*epoch(), absent.missing, job_.now);
  stall.gave_up = MissingMembers(*epoch(), absent.gave_up, job_.now);
  for (uint32_t rank : current.Arrived()) stall.waiting.push_back(epoch()->members()[rank]);
  return stall;
}

StallReports::Stall StallReports::StalledLeave() const {
  Stall stall{"Leave", job_.now, "", "", {}, {}, {}};
  std::vector<uint32_t> staying;
  for (const Member* member : epoch()->members()) {
    if (!member->leaving() && !member->gone()) staying.push_back(*member->rank());
    const ParkedCall* leave = calls_.parked().Find(calls_.parked().LeaveOf(*member));
    if (leave == nullptr) continue;
    stall.waiting.push_back(member);
    stall.since = std::min(stall.since, leave->since);
  }
  stall.why = absl::StrCat("not leaving yet: ", DescribeMembers(*epoch(), staying, job_.now));
  stall.missing = MissingMembers(*epoch(), staying, job_.now);
  return stall;
}

StallReports::Stall StallReports::StalledForming() const {
  Stall stall{epoch() ? "Rejoin" : "Join", job_.now, "", "", {}, {}, {}};
  for (const auto& [id, candidate] : joining_.places().candidates()) {
    const Member* member = joining_.CandidateOf(id);
    stall.waiting.push_back(member);
    stall.since =
        std::min(stall.since, calls_.parked().Find(calls_.parked().JoinOf(*member))->since);
  }
  stall.why = forming_.Decide().reason;
  if (!epoch()) {
    absl::StrAppend(&stall.why, joining_.DescribeCandidates());
    for (uint32_t rank : joining_.places().UnrequestedRanks(joining_.WorldSize())) {
      stall.missing.push_back(
          {rank, {}, MemberState::kAwaited, "no process has asked for this rank"});
    }
    return stall;
  }
  const std::vector<uint32_t> awaited = AwaitedRanks(*epoch());
  if (!awaited.empty()) {
    absl::StrAppend(&stall.why, "; awaited: ", DescribeMembers(*epoch(), awaited, job_.now));
  }
  stall.missing = MissingMembers(*epoch(), awaited, job_.now);
  return stall;
}

StallReports::Stall StallReports::StalledRecovery() const {
  Stall stall{"the recovery", recovery_.began(), "", recovery_.DescribeAwaited(), {}, {}, {}};
  if (!epoch()) return stall;
  for (const Member* member : epoch()->members()) {
    if (member->attached()) stall.waiting.push_back(member);
  }
  stall.missing = MissingMembers(*epoch(), recovery_.AbsentRanks(), job_.now);
  return stall;
}

}  // namespace muster::core
