#include "server/core/diagnosis/verdict.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/api/describe.h"
#include "server/core/diagnosis/condition_words.h"
#include "server/core/diagnosis/verdict_scene.h"
#include "server/core/diagnosis/verdict_waits.h"

namespace muster::core {
namespace {

constexpr size_t kMaxNamed = 3;

std::string DescribeCircle(const Wait& wait) {
  return absl::StrCat(Ranks(wait.waiting), wait.waiting.size() == 1 ? " waits in " : " wait in ",
                      wait.what);
}

Verdict Circle(const std::vector<const Wait*>& circle) {
  std::vector<std::string> parts;
  for (const Wait* wait : circle) parts.push_back(DescribeCircle(*wait));
  return {VerdictKind::kDifferentCalls,
          absl::StrCat("ranks wait for each other in different calls: ",
                       absl::StrJoin(parts, ", and "), "; none of these can end")};
}

// Makes the verdict that `worst`, which is one of `culprits` or null, holds the others up.
// `operation` describes the communicator operation that `worst` is in and others have ended, or is
// empty.
Verdict Blame(const Scene& scene, const Wait& wait, const std::vector<uint32_t>& culprits,
              const MemberStatus* worst, const std::string& operation) {
  if (worst == nullptr) {
    return {VerdictKind::kUnknown, absl::StrCat(Ranks(culprits), " ", wait.not_done)};
  }
  const VerdictKind kind = scene.KindOf(*worst);
  const std::string others =
      culprits.size() == 1 ? "" : absl::StrCat(" (one of ", Ranks(culprits), ")");
  const std::string gave_up =
      wait.gave_up == 0 ? "" : absl::StrCat(", ", wait.gave_up, " have stopped waiting");
  const std::string inside = operation.empty() ? "" : absl::StrCat(", in ", operation);
  return {kind, absl::StrCat(scene.Who(*worst), others, " ", wait.not_done, ": ",
                             scene.Describe(*worst), inside, "; ", OthersWait(wait.waiting.size()),
                             " for ", HowLong(wait.age), gave_up)};
}

// Blames the likeliest culprit. If that one is inside a communicator, judges whom it waits for
// there.
Verdict BlameOneOf(const Scene& scene, const Wait& wait, const std::vector<uint32_t>& culprits) {
  const MemberStatus* const worst = scene.Worst(culprits);
  const RankObservation* const seen = worst == nullptr ? nullptr : scene.SeenOf(*worst);
  if (seen == nullptr || !InACommunicator(*seen)) return Blame(scene, wait, culprits, worst, "");
  const std::string operation = OperationThatOthersHaveEnded(scene, *seen);
  return operation.empty() ? JudgeCommunicators(scene, *seen)
                           : Blame(scene, wait, culprits, worst, operation);
}

// Follows the oldest wait to its origin.
Verdict Follow(const Scene& scene, const Waits& waits) {
  std::vector<const Wait*> path;
  const Wait* wait = &waits.Oldest();
  while (true) {
    path.push_back(wait);
    const std::vector<uint32_t> culprits = waits.NotWaiting(*wait);
    const Wait* const next = waits.Of(culprits.front());
    if (next == nullptr) return BlameOneOf(scene, *wait, culprits);
    const auto seen = std::find(path.begin(), path.end(), next);
    if (seen != path.end()) return Circle({seen, path.end()});
    wait = next;
  }
}

bool IsOver(JobState state) { return state == JobState::kFailed || state == JobState::kFinished; }

// Judges a job that is over. A process that cannot end keeps its launcher from ending.
Verdict JudgeEnd(const Scene& scene) {
  const std::string& reason = scene.job().reason;
  for (const RankObservation& seen : scene.seen()) {
    const VerdictKind kind = KindOf(seen);
    if (kind == VerdictKind::kEnded || Weight(kind) < Weight(VerdictKind::kUninterruptible))
      continue;
    return {kind, absl::StrCat(reason, "; ", scene.Who(seen), ": ", DescribeCondition(seen))};
  }
  return {VerdictKind::kNothingWaits, reason};
}

// Judges a recovery: what keeps a member from coming back.
Verdict JudgeRecovery(const Scene& scene) {
  std::vector<uint32_t> awaited;
  for (const MemberStatus& member : scene.job().members) {
    if (member.rank && member.state == MemberState::kAwaited) awaited.push_back(*member.rank);
  }
  const std::string& reason = scene.job().reason;
  const MemberStatus* const worst = scene.Worst(awaited);
  const VerdictKind kind = worst == nullptr ? VerdictKind::kUnknown : scene.KindOf(*worst);
  if (kind == VerdictKind::kUnknown) return {kind, reason};
  return {kind, absl::StrCat(reason, "; ", scene.Who(*worst), ": ", scene.DescribeDoing(*worst))};
}

// Judges a job in which all remaining members have called Rejoin, so that they wait for new
// processes.
Verdict JudgeRejoined(const Scene& scene, size_t count) {
  return {VerdictKind::kUnknown,
          absl::StrCat(count, count == 1 ? " rank waits" : " ranks wait",
                       " in Rejoin, and no other one is to come: ", scene.job().reason)};
}

// Judges a job in which no rank waits in a call of Muster's. Reports a finished group, or else what
// the processes do.
Verdict NothingWaits(const Scene& scene) {
  if (!scene.job().finished_groups.empty()) {
    return {VerdictKind::kDifferentCalls, scene.job().finished_groups.front()};
  }
  std::vector<const RankObservation*> order;
  for (const RankObservation& seen : scene.seen()) {
    if (seen.condition != ProcessCondition::kEnded) order.push_back(&seen);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return Weight(KindOf(*a)) > Weight(KindOf(*b));
  });
  std::vector<std::string> parts = {"no rank waits for another one in a call of Muster's"};
  for (size_t i = 0; i < order.size() && i < kMaxNamed; ++i) {
    parts.push_back(absl::StrCat(scene.Who(*order[i]), ": ", DescribeCondition(*order[i])));
  }
  return {VerdictKind::kNothingWaits, absl::StrJoin(parts, "; ")};
}

}  // namespace

std::string NameOf(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kNothingWaits:
      return "nothing-waits";
    case VerdictKind::kStopped:
      return "stopped";
    case VerdictKind::kEnded:
      return "ended";
    case VerdictKind::kDeadLock:
      return "dead-lock";
    case VerdictKind::kUninterruptible:
      return "uninterruptible";
    case VerdictKind::kFullPipe:
      return "full-pipe";
    case VerdictKind::kInACall:
      return "in-a-call";
    case VerdictKind::kBusy:
      return "busy";
    case VerdictKind::kDifferentCalls:
      return "different-calls";
    case VerdictKind::kNotStarted:
      return "not-started";
    case VerdictKind::kSilentNode:
      return "silent-node";
    case VerdictKind::kFellBehind:
      return "fell-behind";
    case VerdictKind::kDisagreement:
      return "disagreement";
    case VerdictKind::kAllInOneCall:
      return "all-in-one-call";
    case VerdictKind::kUnknown:
      return "unknown";
  }
  return "";
}

Verdict JudgeWaits(const Scene& scene) {
  if (IsOver(scene.job().state)) return JudgeEnd(scene);
  if (scene.job().state == JobState::kRecovering) return JudgeRecovery(scene);
  const Waits waits(scene.job());
  if (!waits.empty()) return Follow(scene, waits);
  if (waits.rejoined_in_vain() > 0) return JudgeRejoined(scene, waits.rejoined_in_vain());
  const RankObservation* const slowest = SlowestInACommunicator(scene);
  return slowest == nullptr ? NothingWaits(scene) : JudgeCommunicators(scene, *slowest);
}

Verdict Judge(const JobStatus& job, const std::vector<RankObservation>& seen,
              const std::vector<LauncherView>& launchers) {
  const Scene scene(job, seen, launchers);
  return job.state == JobState::kForming ? JudgeForming(scene) : JudgeWaits(scene);
}

}  // namespace muster::core
