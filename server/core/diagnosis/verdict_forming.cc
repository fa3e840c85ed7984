// The verdict on a job that does not form: which process keeps it from forming.

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/api/describe.h"
#include "server/core/diagnosis/condition_words.h"
#include "server/core/diagnosis/verdict_scene.h"

namespace muster::core {
namespace {

// The MemberStatus::waiting_in of a member that has joined.
constexpr absl::string_view kJoin = "Join";

// Returns whether the process has joined. It may be stopped, as long as its call waits.
bool HasJoined(const Scene& scene, const RankObservation& seen) {
  const MemberStatus* const member = scene.MemberOf(seen.incarnation);
  return member != nullptr &&
         (member->state == MemberState::kJoining || member->waiting_in == kJoin);
}

std::string DescribeAbsence(const Scene& scene, const RankObservation& seen) {
  const MemberStatus* const member = scene.MemberOf(seen.incarnation);
  return member != nullptr && member->state == MemberState::kDetached
             ? "has lost its connection to the coordinator, and so has not joined"
             : "has not called Join";
}

size_t Running(const Scene& scene) {
  return std::count_if(scene.seen().begin(), scene.seen().end(), [](const RankObservation& seen) {
    return seen.condition != ProcessCondition::kEnded;
  });
}

std::vector<uint32_t> NeverStarted(const Scene& scene) {
  std::set<uint32_t> started;
  for (const RankObservation& seen : scene.seen()) {
    if (seen.rank) started.insert(*seen.rank);
  }
  std::vector<uint32_t> absent;
  for (uint32_t rank = 0; rank < scene.job().world_size; ++rank) {
    if (started.count(rank) == 0) absent.push_back(rank);
  }
  return absent;
}

std::string NodesThatAnswer(const Scene& scene) {
  std::set<std::string> nodes;
  for (const LauncherView& launcher : scene.launchers()) {
    if (launcher.reported) nodes.insert(scene.node_names().DescribeLaunchersNode(launcher.node));
  }
  return absl::StrJoin(nodes, ", ");
}

}  // namespace

Verdict JudgeForming(const Scene& scene) {
  // Programs that call NCCL on their own may never join, and are seen only by Muster's NCCL
  // plug-in.
  if (scene.job().members.empty()) {
    const RankObservation* const inside = SlowestInACommunicator(scene);
    if (inside != nullptr) return JudgeCommunicators(scene, *inside);
  }
  const RankObservation* late = nullptr;
  for (const RankObservation& seen : scene.seen()) {
    if (HasJoined(scene, seen)) continue;
    if (late == nullptr || Weight(KindOf(seen)) > Weight(KindOf(*late))) late = &seen;
  }
  const std::string& reason = scene.job().reason;
  if (const size_t running = Running(scene); scene.job().members.empty() && running > 0) {
    return {KindOf(*late), absl::StrCat(NoneUsesMuster(running), "; ", scene.Who(*late), ": ",
                                        DescribeCondition(*late))};
  }
  if (late != nullptr) {
    return {KindOf(*late), absl::StrCat(scene.Who(*late), " ", DescribeAbsence(scene, *late), ": ",
                                        DescribeCondition(*late), "; ", reason)};
  }
  const bool ranks_are_known =
      std::all_of(scene.seen().begin(), scene.seen().end(),
                  [](const RankObservation& seen) { return seen.rank.has_value(); });
  const std::vector<uint32_t> absent = NeverStarted(scene);
  if (scene.launchers().empty()) {
    return {VerdictKind::kUnknown,
            absl::StrCat(reason, "; no launcher (`muster run`) has answered")};
  }
  if (scene.seen().empty() || !ranks_are_known || absent.empty()) {
    return {VerdictKind::kUnknown, reason};
  }
  return {VerdictKind::kNotStarted,
          absl::StrCat(Ranks(absent), absent.size() == 1 ? " was" : " were",
                       " never started: launchers have answered on ", NodesThatAnswer(scene),
                       " only; ", reason)};
}

}  // namespace muster::core
