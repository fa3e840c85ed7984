#include "server/core/job/member_state.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/api/describe.h"

namespace muster::core {
namespace {

// The most members that one line describes. It lists all of them as ranges, and the event has all
// of them.
constexpr size_t kMaxDescribed = 4;

}  // namespace

MemberState StateOf(const Member& member) {
  if (member.lost()) return MemberState::kLost;
  if (member.left()) return MemberState::kLeft;
  if (member.awaited()) return MemberState::kAwaited;
  if (member.stopped_since) return MemberState::kStopped;
  if (!member.attached()) return MemberState::kDetached;
  if (member.leaving()) return MemberState::kLeaving;
  if (member.seeks()) return MemberState::kJoining;
  return member.rank() ? MemberState::kRunning : MemberState::kAttached;
}

absl::Status CheckNotLeaving(const Member& member) {
  if (!member.leaving()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(member.Describe(), " has called Leave; no collective or lease may follow it"));
}

bool HasRejoined(const Member& member) { return member.attached() && member.seeks(); }

bool MayStillRejoin(const Member& member) { return !HasRejoined(member) && !member.gone(); }

std::vector<uint32_t> AwaitedRanks(const Epoch& epoch) {
  std::vector<uint32_t> awaited;
  for (const Member* member : epoch.members()) {
    if (MayStillRejoin(*member)) awaited.push_back(*member->rank());
  }
  return awaited;
}

std::vector<MissingMember> MissingMembers(const Epoch& epoch, const std::vector<uint32_t>& ranks,
                                          Time now) {
  std::vector<MissingMember> missing;
  for (uint32_t rank : ranks) {
    const Member& member = *epoch.members()[rank];
    missing.push_back({rank, member.identity, StateOf(member), member.DescribeActivity(now)});
  }
  return missing;
}

std::string DescribeMembers(const Epoch& epoch, const std::vector<uint32_t>& ranks, Time now) {
  std::vector<std::string> parts;
  if (ranks.size() != 1) parts.push_back(Ranks(ranks));
  for (size_t i = 0; i < ranks.size() && i < kMaxDescribed; ++i) {
    const Member& member = *epoch.members()[ranks[i]];
    parts.push_back(absl::StrCat(member.Describe(), member.stopped_since ? ", stopped" : "",
                                 member.attached() ? "" : ", detached", ", ",
                                 member.DescribeActivity(now)));
  }
  return absl::StrJoin(parts, "; ");
}

}  // namespace muster::core
