#include "server/core/diagnosis/verdict_scene.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"
#include "server/core/diagnosis/condition_words.h"

namespace muster::core {

Scene::Scene(const JobStatus& job, const std::vector<RankObservation>& seen,
             const std::vector<LauncherView>& launchers)
    : job_(job), seen_(seen), launchers_(launchers) {
  for (const MemberStatus& member : job_.members) {
    if (member.rank) by_rank_[*member.rank] = &member;
    by_incarnation_[member.member.incarnation] = &member;
    node_names_.Add(member.member.node_id);
  }
  for (const RankObservation& one : seen_) seen_by_incarnation_[one.incarnation] = &one;
  for (const LauncherView& launcher : launchers_) {
    if (launcher.reported) continue;
    silent_.insert(launcher.processes.begin(), launcher.processes.end());
  }
}

const MemberStatus* Scene::MemberOf(uint32_t rank) const {
  const auto found = by_rank_.find(rank);
  return found == by_rank_.end() ? nullptr : found->second;
}

const MemberStatus* Scene::MemberOf(const Incarnation& incarnation) const {
  const auto found = by_incarnation_.find(incarnation);
  return found == by_incarnation_.end() ? nullptr : found->second;
}

const RankObservation* Scene::SeenOf(const MemberStatus& member) const {
  const auto found = seen_by_incarnation_.find(member.member.incarnation);
  return found == seen_by_incarnation_.end() ? nullptr : found->second;
}

VerdictKind Scene::KindOf(const MemberStatus& member) const {
  if (const RankObservation* seen = SeenOf(member)) return core::KindOf(*seen);
  if (member.state == MemberState::kStopped) return VerdictKind::kStopped;
  return silent_.contains(member.member.incarnation) ? VerdictKind::kSilentNode
                                                     : VerdictKind::kUnknown;
}

std::string Scene::DescribeDoing(const MemberStatus& member) const {
  if (const RankObservation* seen = SeenOf(member)) return DescribeCondition(*seen);
  if (member.state == MemberState::kStopped) {
    return absl::StrCat("it is stopped; 'kill -CONT ", member.member.pid, "' continues it");
  }
  if (!silent_.contains(member.member.incarnation))
    return "no launcher looks after it, which could see what it is doing";
  return absl::StrCat("the launcher of ", node_names_.Describe(member.member.node_id),
                      " does not answer: the node is down, cut off from the network, or stopped");
}

std::string Scene::Describe(const MemberStatus& member) const {
  const bool connected = member.state != MemberState::kDetached;
  return absl::StrCat(DescribeDoing(member), connected ? "" : "; its connection has ended", " (",
                      member.activity, ")");
}

std::string Scene::Who(const MemberStatus& member) const {
  return core::Who(member.rank, member.member, node_names_);
}

std::string Scene::Who(const RankObservation& seen) const {
  if (const MemberStatus* member = MemberOf(seen.incarnation); member != nullptr && member->rank) {
    return Who(*member);
  }
  return absl::StrCat(seen.rank ? absl::StrCat("rank ", *seen.rank) : "a process", " (",
                      node_names_.DescribeLaunchersNode(seen.node), ", pid ", seen.pid, ")");
}

const MemberStatus* Scene::Worst(const std::vector<uint32_t>& ranks) const {
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
