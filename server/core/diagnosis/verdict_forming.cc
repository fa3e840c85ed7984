// The verdict on a job that does not form: which process keeps it from forming.

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/api/describe.h"
#include "server/core/diagnosis/condition_description.h"
#include "server/core/diagnosis/verdict_evidence.h"

namespace muster::core {
namespace {

// The MemberStatus::waiting_in of a member that has joined.
constexpr absl::string_view kJoin = "Join";

// Returns whether the process has joined. It may be stopped, as long as its call waits.
bool HasJoined(const Evidence& evidence, const RankObservation& observation) {
  const MemberStatus* const member = evidence.MemberOf(observation.incarnation);
  return member != nullptr &&
         (member->state == MemberState::kJoining || member->waiting_in == kJoin);
}

std::string DescribeAbsence(const Evidence& evidence, const RankObservation& observation) {
  const MemberStatus* const member = evidence.MemberOf(observation.incarnation);
  return member != nullptr && member->state == MemberState::kDetached
             ? "has lost its connection to the coordinator, and so has not joined"
             : "has not called Join";
}

size_t Running(const Evidence& evidence) {
  return std::count_if(evidence.observations().begin(), evidence.observations().end(),
                       [](const RankObservation& observation) {
                         return observation.condition != ProcessCondition::kEnded;
                       });
}

std::vector<uint32_t> NeverStarted(const Evidence& evidence) {
  std::set<uint32_t> started;
  for (const RankObservation& observation : evidence.observations()) {
    if (observation.rank) started.insert(*observation.rank);
  }
  std::vector<uint32_t> absent;
  for (uint32_t rank = 0; rank < evidence.job().world_size; ++rank) {
    if (started.count(rank) == 0) absent.push_back(rank);
  }
  return absent;
}

std::string AnsweringNodes(const Evidence& evidence) {
  std::set<std::string> nodes;
  for (const LauncherView& launcher : evidence.launchers()) {
    if (launcher.reported) nodes.insert(evidence.node_names().DescribeLauncherNode(launcher.node));
  }
  return absl::StrJoin(nodes, ", ");
}

}  // namespace

Verdict JudgeForming(const Evidence& evidence) {
  // Programs that call NCCL on their own may never join, and are seen only by Muster's NCCL
  // plug-in.
  if (evidence.job().members.empty()) {
    const RankObservation* const inside = SlowestInCommunicator(evidence);
    if (inside != nullptr) return JudgeCommunicators(evidence, *inside);
  }
  const RankObservation* late = nullptr;
  for (const RankObservation& observation : evidence.observations()) {
    if (HasJoined(evidence, observation)) continue;
    if (late == nullptr || Weight(KindOf(observation)) > Weight(KindOf(*late))) late = &observation;
  }
  const std::string& reason = evidence.job().reason;
  if (const size_t running = Running(evidence); evidence.job().members.empty() && running > 0) {
    return {KindOf(*late),
            absl::StrCat(DescribeUnusedMuster(running), "; ", evidence.DescribeMember(*late), ": ",
                         DescribeCondition(*late))};
  }
  if (late != nullptr) {
    return {KindOf(*late),
            absl::StrCat(evidence.DescribeMember(*late), " ", DescribeAbsence(evidence, *late),
                         ": ", DescribeCondition(*late), "; ", reason)};
  }
  const bool ranks_are_known =
      std::all_of(evidence.observations().begin(), evidence.observations().end(),
                  [](const RankObservation& observation) { return observation.rank.has_value(); });
  const std::vector<uint32_t> absent = NeverStarted(evidence);
  if (evidence.launchers().empty()) {
    return {VerdictKind::kUnknown,
            absl::StrCat(reason, "; no launcher (`muster run`) has answered")};
  }
  if (evidence.observations().empty() || !ranks_are_known || absent.empty()) {
    return {VerdictKind::kUnknown, reason};
  }
  return {VerdictKind::kNotStarted,
          absl::StrCat(Ranks(absent), absent.size() == 1 ? " was" : " were",
                       " never started: launchers have answered on ", AnsweringNodes(evidence),
                       " only; ", reason)};
}

}  // namespace muster::core
