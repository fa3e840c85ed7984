#include "server/core/diagnosis/verdict_evidence.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"
#include "server/core/diagnosis/condition_description.h"

namespace muster::core {

Evidence::Evidence(const JobStatus& job, const std::vector<RankObservation>& observations,
                   const std::vector<LauncherView>& launchers)
    : job_(job), observations_(observations), launchers_(launchers) {
  for (const MemberStatus& member : job_.members) {
    if (member.rank) by_rank_[*member.rank] = &member;
    by_incarnation_[member.member.incarnation] = &member;
    node_names_.Add(member.member.node_id);
  }
  for (const RankObservation& observation : observations_)
    observations_by_incarnation_[observation.incarnation] = &observation;
  for (const LauncherView& launcher : launchers_) {
    if (launcher.reported) continue;
    silent_.insert(launcher.processes.begin(), launcher.processes.end());
  }
}

const MemberStatus* Evidence::MemberOf(uint32_t rank) const {
  const auto found = by_rank_.find(rank);
  return found == by_rank_.end() ? nullptr : found->second;
}

const MemberStatus* Evidence::MemberOf(const Incarnation& incarnation) const {
  const auto found = by_incarnation_.find(incarnation);
  return found == by_incarnation_.end() ? nullptr : found->second;
}

const RankObservation* Evidence::ObservationOf(const MemberStatus& member) const {
  const auto found = observations_by_incarnation_.find(member.member.incarnation);
  return found == observations_by_incarnation_.end() ? nullptr : found->second;
}

namespace {

// Returns whether a process may be what it says to the coordinator: waiting in the store. Its
// first thread then waits for a lock or for its network.
bool MayWaitInStore(const RankObservation* observation) {
  static const auto* const waits = new absl::flat_hash_set<std::string>(
      {"futex", "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll"});
  if (observation == nullptr) return true;
  const VerdictKind kind = core::KindOf(*observation);
  return kind == VerdictKind::kUnknown ||
         (kind == VerdictKind::kInACall && waits->contains(observation->call) &&
          observation->blocked_by.empty());
}

}  // namespace

bool Evidence::IsInStore(const MemberStatus& member) const {
  return !member.missing_in_store.empty() && member.waiting_in.empty() &&
         member.state != MemberState::kStopped && !silent_.contains(member.member.incarnation) &&
         MayWaitInStore(ObservationOf(member));
}

VerdictKind Evidence::KindOf(const MemberStatus& member) const {
  if (IsInStore(member)) return VerdictKind::kInStore;
  if (const RankObservation* observation = ObservationOf(member)) return core::KindOf(*observation);
  if (member.state == MemberState::kStopped) return VerdictKind::kStopped;
  return silent_.contains(member.member.incarnation) ? VerdictKind::kSilentNode
                                                     : VerdictKind::kUnknown;
}

std::string Evidence::DescribeState(const MemberStatus& member) const {
  if (IsInStore(member)) {
    return absl::StrCat("it has waited ", DescribeDuration(member.in_store_for),
                        " in the store: ", member.missing_in_store);
  }
  if (const RankObservation* observation = ObservationOf(member))
    return DescribeCondition(*observation);
  if (member.state == MemberState::kStopped) {
    return absl::StrCat("it is stopped; 'kill -CONT ", member.member.pid, "' continues it");
  }
  if (!silent_.contains(member.member.incarnation))
    return "no launcher runs on its node to inspect it";
  return absl::StrCat("the launcher of ", node_names_.Describe(member.member.node_id),
                      " does not answer: the node is down, cut off from the network, or stopped");
}

std::string Evidence::DescribeStateAndActivity(const MemberStatus& member) const {
  const bool connected = member.state != MemberState::kDetached;
  return absl::StrCat(DescribeState(member), connected ? "" : "; its connection has ended", " (",
                      IsInStore(member) ? member.activity : DescribeActivity(member), ")");
}

std::string Evidence::DescribeMember(const MemberStatus& member) const {
  return core::DescribeMember(member.rank, member.member, node_names_);
}

std::string Evidence::DescribeMember(const RankObservation& observation) const {
  if (const MemberStatus* member = MemberOf(observation.incarnation);
      member != nullptr && member->rank) {
    return DescribeMember(*member);
  }
  return absl::StrCat(observation.rank ? absl::StrCat("rank ", *observation.rank) : "a process",
                      " (", node_names_.DescribeLauncherNode(observation.node), ", pid ",
                      observation.pid, ")");
}

const MemberStatus* Evidence::LikeliestCulprit(const std::vector<uint32_t>& ranks) const {
  const MemberStatus* worst = nullptr;
  int most = 0;
  for (uint32_t rank : ranks) {
    const MemberStatus* const member = MemberOf(rank);
    const int weight = member == nullptr ? 0 : Weight(KindOf(*member));
    if (weight <= most) continue;
    worst = member;
    most = weight;
  }
  return worst;
}

std::string OthersWait(size_t count) {
  return absl::StrCat(count, count == 1 ? " other waits" : " others wait");
}

std::string WithCommas(uint64_t number) {
  std::string text = absl::StrCat(number);
  for (size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

}  // namespace muster::core
