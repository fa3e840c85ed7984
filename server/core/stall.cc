// Who are we waiting for: a word in the log and to those who wait, when nobody arrives for a while.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

// Missing members that one line describes; the list of all is in ranges, and whole in the event.
constexpr size_t kMaxDescribed = 4;

// A wait is out of the ordinary when nobody has arrived for so many times what the slowest have
// taken, and for so long.
constexpr int kUnusually = 10;
constexpr absl::Duration kLeastUnusual = absl::Seconds(2);
// Of what has no usual time.
constexpr absl::Duration kNotKnown = absl::InfiniteDuration();

// What is said at the end of how late ranks came.
constexpr size_t kMaxLogged = 3;
constexpr absl::Duration kLeastLogged = absl::Seconds(1);

absl::Duration Unusual(const CollectiveGroup& group) {
  return std::max(kLeastUnusual, kUnusually * group.SlowestSoFar());
}

}  // namespace

// One check is due soon after whatever begins to wait, however late the next word on what waited
// before is: a slow forming must not keep from view what hangs after it. It looks again at what
// waits then. Runs at each arrival, and so only takes a minimum.
void Coordinator::Impl::WatchForStalls() {
  if (options_.stall_warning == absl::ZeroDuration()) return;
  stall_check_ = std::min(stall_check_, now_ + std::min(options_.stall_warning, kLeastUnusual));
}

void Coordinator::Impl::CheckStalls() {
  if (stall_check_ > now_) return;
  stall_check_ =
      recovering() ? CheckRecovery() : std::min({CheckCollectives(), CheckLeave(), CheckForming()});
}

// Each of these says what is to be said now, and returns when to look again.

Time Coordinator::Impl::CheckStall(StallClock* clock, absl::Duration unusual,
                                   absl::FunctionRef<Stall()> describe) {
  if (clock->Next(options_.stall_warning, unusual) <= now_) {
    clock->Said(now_);
    Announce(describe());
  }
  return clock->Next(options_.stall_warning, unusual);
}

Time Coordinator::Impl::CheckRecovery() {
  return CheckStall(&recovery_stall_, kNotKnown, [this] { return StalledRecovery(); });
}

Time Coordinator::Impl::CheckCollectives() {
  Time next = absl::InfiniteFuture();
  if (!epoch_ || epoch_->broken()) return next;
  for (const auto& entry : epoch_->groups()) {
    const auto& group = entry.second;
    if (!group->pending()) continue;
    const Time of_group =
        CheckStall(group->stall(), Unusual(*group), [&] { return StalledCollective(*group); });
    // The next collective may be one that is usually faster.
    next = std::min({next, of_group, now_ + kLeastUnusual});
  }
  return next;
}

Time Coordinator::Impl::CheckLeave() {
  if (!epoch_ || epoch_->broken()) return absl::InfiniteFuture();
  const auto waits = [this](const Member* m) { return parked_.LeaveOf(*m) != 0; };
  const auto& members = epoch_->members();
  if (std::none_of(members.begin(), members.end(), waits)) return absl::InfiniteFuture();
  return CheckStall(&leave_stall_, kNotKnown, [this] { return StalledLeave(); });
}

Time Coordinator::Impl::CheckForming() {
  if (!Forming() || places_.empty()) return absl::InfiniteFuture();
  return CheckStall(&forming_stall_, kNotKnown, [this] { return StalledForming(); });
}

void Coordinator::Impl::Announce(const Stall& stall) {
  const absl::Duration waited = now_ - stall.since;
  const std::string text =
      absl::StrCat(stall.operation, " has waited ", HowLong(waited), stall.usual, "; ", stall.why);
  Log(Severity::kWarning, text);
  ++tally_.counters.stall_warnings;
  StillWaiting event;
  if (epoch_ && !epoch_->broken()) event.epoch = epoch_->id();
  event.operation = stall.operation;
  event.waited = waited;
  event.text = text;
  event.missing = std::make_shared<const std::vector<MissingMember>>(stall.missing);
  event.gave_up = std::make_shared<const std::vector<MissingMember>>(stall.gave_up);
  const SharedEvent shared = out_.Share(std::move(event));
  for (const Member* member : stall.waiting) Send(member, shared);
  Inquire(absl::StrCat(stall.operation, " has waited ", HowLong(waited)));
}

std::vector<MissingMember> Coordinator::Impl::MissingMembers(
    const std::vector<uint32_t>& ranks) const {
  std::vector<MissingMember> missing;
  for (uint32_t rank : ranks) {
    const Member& member = *epoch_->members()[rank];
    missing.push_back({rank, member.identity, StateOf(member), member.activity.Describe(now_)});
  }
  return missing;
}

// "rank 1 (node ...), detached, last completed ..."; of several "ranks 1,3; rank 1 (node ...), ...;
// rank 3 (node ...), ...".
std::string Coordinator::Impl::DescribeMembers(const std::vector<uint32_t>& ranks) const {
  std::vector<std::string> parts;
  if (ranks.size() != 1) parts.push_back(Ranks(ranks));
  for (size_t i = 0; i < ranks.size() && i < kMaxDescribed; ++i) {
    const Member& member = *epoch_->members()[ranks[i]];
    parts.push_back(absl::StrCat(member.who(), member.stopped_since ? ", stopped" : "",
                                 member.attached() ? "" : ", detached", ", ",
                                 member.activity.Describe(now_)));
  }
  return absl::StrJoin(parts, "; ");
}

void Coordinator::Impl::LogStragglers() {
  if (!epoch_) return;
  for (const Straggler& straggler : epoch_->lateness().Worst(kMaxLogged)) {
    if (straggler.waited_for < kLeastLogged) continue;
    // `muster run` shows no less than a warning.
    Log(Severity::kWarning,
        absl::StrCat(epoch_->members()[straggler.rank]->who(), " ", DescribeLateness(straggler)));
  }
}

Coordinator::Impl::Stall Coordinator::Impl::StalledCollective(const CollectiveGroup& group) const {
  Stall stall;
  stall.operation = DescribeStep(group.PendingOperation(), group.sequence(), group.name());
  stall.since = group.first_arrival();
  if (const absl::Duration slowest = group.SlowestSoFar(); slowest < absl::InfiniteDuration()) {
    stall.usual = absl::StrCat(", the slowest before ", HowLong(slowest));
  }
  const Absentees absent = group.AbsentFrom(group.sequence());
  stall.why = DescribeAbsentees(absent, group.ranks().size());
  stall.missing = MissingMembers(absent.missing);
  stall.gave_up = MissingMembers(absent.gave_up);
  for (uint32_t rank : group.Arrived()) stall.waiting.push_back(epoch_->members()[rank]);
  return stall;
}

Coordinator::Impl::Stall Coordinator::Impl::StalledLeave() const {
  Stall stall{"Leave", now_, "", "", {}, {}, {}};
  std::vector<uint32_t> staying;
  for (const Member* member : epoch_->members()) {
    if (!member->leaving() && !member->gone()) staying.push_back(*member->rank());
    const ParkedCall* leave = parked_.Find(parked_.LeaveOf(*member));
    if (leave == nullptr) continue;
    stall.waiting.push_back(member);
    stall.since = std::min(stall.since, leave->since);
  }
  stall.why = absl::StrCat("not leaving yet: ", DescribeMembers(staying));
  stall.missing = MissingMembers(staying);
  return stall;
}

Coordinator::Impl::Stall Coordinator::Impl::StalledForming() const {
  Stall stall{epoch_ ? "Rejoin" : "Join", now_, "", "", {}, {}, {}};
  for (const auto& [id, candidate] : places_.candidates()) {
    const Member* member = CandidateOf(id);
    stall.waiting.push_back(member);
    stall.since = std::min(stall.since, parked_.Find(parked_.JoinOf(*member))->since);
  }
  stall.why = Decide().reason;
  if (!epoch_) {
    absl::StrAppend(&stall.why, DescribeCandidates());
    for (uint32_t rank : places_.UnaskedRanks(WorldSize())) {
      stall.missing.push_back({rank, {}, MemberState::kAwaited, "no process has asked for it"});
    }
    return stall;
  }
  const std::vector<uint32_t> awaited = AwaitedRanks();
  if (!awaited.empty()) absl::StrAppend(&stall.why, "; awaited: ", DescribeMembers(awaited));
  stall.missing = MissingMembers(awaited);
  return stall;
}

Coordinator::Impl::Stall Coordinator::Impl::StalledRecovery() const {
  Stall stall{
      "the recovery", *recovery_ends_ - options_.recovery_grace, "", DescribeAwaited(), {}, {}, {}};
  if (!epoch_) return stall;
  std::vector<uint32_t> awaited;
  for (const Member* member : epoch_->members()) {
    if (member->attached()) {
      stall.waiting.push_back(member);
    } else if (!member->gone()) {
      awaited.push_back(*member->rank());
    }
  }
  stall.missing = MissingMembers(awaited);
  return stall;
}

}  // namespace muster::core
