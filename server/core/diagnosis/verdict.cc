#include "server/core/diagnosis/verdict.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/api/describe.h"
#include "server/core/diagnosis/condition_description.h"
#include "server/core/diagnosis/verdict_evidence.h"
#include "server/core/diagnosis/wait_graph.h"

namespace muster::core {
namespace {

constexpr size_t kMaxNamed = 3;

std::string DescribeCycleWait(const Wait& wait) {
  return absl::StrCat(Ranks(wait.waiting), wait.waiting.size() == 1 ? " waits in " : " wait in ",
                      wait.what);
}

Verdict JudgeCycle(const std::vector<const Wait*>& circle) {
  std::vector<std::string> parts;
  for (const Wait* wait : circle) parts.push_back(DescribeCycleWait(*wait));
  return {VerdictKind::kDifferentCalls,
          absl::StrCat("ranks wait for each other in different calls: ",
                       absl::StrJoin(parts, ", and "), "; none of these calls can complete")};
}

// Makes the verdict that `worst`, which is one of `culprits` or null, holds the others up.
// `operation` describes the communicator operation that `worst` is in and others have ended, or is
// empty.
Verdict Blame(const Evidence& evidence, const Wait& wait, const std::vector<uint32_t>& culprits,
              const MemberStatus* worst, const std::string& operation) {
  if (worst == nullptr) {
    return {VerdictKind::kUnknown, absl::StrCat(Ranks(culprits), " ", wait.not_done)};
  }
  const VerdictKind kind = evidence.KindOf(*worst);
  const std::string others =
      culprits.size() == 1 ? "" : absl::StrCat(" (one of ", Ranks(culprits), ")");
  const std::string gave_up =
      wait.gave_up == 0 ? "" : absl::StrCat(", ", wait.gave_up, " have stopped waiting");
  const std::string inside = operation.empty() ? "" : absl::StrCat(", in ", operation);
  return {kind, absl::StrCat(evidence.DescribeMember(*worst), others, " ", wait.not_done, ": ",
                             evidence.DescribeStateAndActivity(*worst), inside, "; ",
                             OthersWait(wait.waiting.size()), " for ", DescribeDuration(wait.age),
                             gave_up)};
}

// Blames the likeliest culprit. If that one is inside a communicator, judges whom it waits for
// there.
Verdict BlameOneOf(const Evidence& evidence, const Wait& wait,
                   const std::vector<uint32_t>& culprits) {
  const MemberStatus* const worst = evidence.LikeliestCulprit(culprits);
  const RankObservation* const observation =
      worst == nullptr ? nullptr : evidence.ObservationOf(*worst);
  if (observation == nullptr || !InCommunicator(*observation))
    return Blame(evidence, wait, culprits, worst, "");
  const std::string operation = OperationThatOthersHaveEnded(evidence, *observation);
  return operation.empty() ? JudgeCommunicators(evidence, *observation)
                           : Blame(evidence, wait, culprits, worst, operation);
}

// Follows the oldest wait to its origin.
Verdict FollowWaits(const Evidence& evidence, const WaitGraph& waits) {
  std::vector<const Wait*> path;
  const Wait* wait = &waits.Oldest();
  while (true) {
    path.push_back(wait);
    const std::vector<uint32_t> culprits = waits.NotWaiting(*wait);
    const Wait* const next = waits.OldestOf(culprits.front());
    if (next == nullptr) return BlameOneOf(evidence, *wait, culprits);
    const auto cycle = std::find(path.begin(), path.end(), next);
    if (cycle != path.end()) return JudgeCycle({cycle, path.end()});
    wait = next;
  }
}

bool IsOver(JobState state) { return state == JobState::kFailed || state == JobState::kFinished; }

// Judges a job that is over. A process that cannot end keeps its launcher from ending.
Verdict JudgeEnd(const Evidence& evidence) {
  const std::string& reason = evidence.job().reason;
  for (const RankObservation& observation : evidence.observations()) {
    const VerdictKind kind = KindOf(observation);
    if (kind == VerdictKind::kEnded || Weight(kind) < Weight(VerdictKind::kUninterruptible))
      continue;
    return {kind, absl::StrCat(reason, "; ", evidence.DescribeMember(observation), ": ",
                               DescribeCondition(observation))};
  }
  return {VerdictKind::kNothingWaits, reason};
}

// Judges a recovery: what keeps a member from coming back.
Verdict JudgeRecovery(const Evidence& evidence) {
  std::vector<uint32_t> awaited;
  for (const MemberStatus& member : evidence.job().members) {
    if (member.rank && member.state == MemberState::kAwaited) awaited.push_back(*member.rank);
  }
  const std::string& reason = evidence.job().reason;
  const MemberStatus* const worst = evidence.LikeliestCulprit(awaited);
  const VerdictKind kind = worst == nullptr ? VerdictKind::kUnknown : evidence.KindOf(*worst);
  if (kind == VerdictKind::kUnknown) return {kind, reason};
  return {kind, absl::StrCat(reason, "; ", evidence.DescribeMember(*worst), ": ",
                             evidence.DescribeState(*worst))};
}

// Judges a job in which all remaining members have called Rejoin, so that they wait for new
// processes.
Verdict JudgeRejoined(const Evidence& evidence, size_t count) {
  return {VerdictKind::kUnknown,
          absl::StrCat(count, count == 1 ? " rank waits" : " ranks wait",
                       " in Rejoin, and no other rank is expected: ", evidence.job().reason)};
}

// Returns the ranks that wait neither in a call nor in the store.
std::vector<uint32_t> RanksThatDoNotWait(const JobStatus& job) {
  std::vector<uint32_t> ranks;
  for (const MemberStatus& member : job.members) {
    const bool is_gone = member.state == MemberState::kLost || member.state == MemberState::kLeft;
    const bool waits = !member.waiting_in.empty() || !member.missing_in_store.empty();
    if (member.rank && !is_gone && !waits) ranks.push_back(*member.rank);
  }
  return ranks;
}

// Judges a job in which ranks wait only in the store. The daemon cannot know which process is to
// set a key, but it can name a rank that does not wait.
Verdict JudgeStore(const Evidence& evidence) {
  const std::vector<StoreWaiters>& waits = evidence.job().store_waits;
  Verdict verdict{VerdictKind::kInStore,
                  DescribeStoreWaiters(waits.front(), evidence.node_names())};
  if (waits.size() > 1) {
    absl::StrAppend(&verdict.text, "; ", waits.size() - 1,
                    waits.size() == 2 ? " more wait" : " more waits", " in the store");
  }
  const std::vector<uint32_t> others = RanksThatDoNotWait(evidence.job());
  const MemberStatus* const worst = evidence.LikeliestCulprit(others);
  if (worst == nullptr) return verdict;
  const VerdictKind kind = evidence.KindOf(*worst);
  if (Weight(kind) >= Weight(VerdictKind::kSilentNode)) verdict.kind = kind;
  absl::StrAppend(&verdict.text, "; ", evidence.DescribeMember(*worst),
                  others.size() == 1 ? "" : absl::StrCat(" (one of ", Ranks(others), ")"),
                  " does not wait: ", evidence.DescribeStateAndActivity(*worst));
  return verdict;
}

// Judges a job in which no rank waits in a call of Muster's. Reports a finished group, or else what
// the processes do.
Verdict JudgeIdle(const Evidence& evidence) {
  if (!evidence.job().finished_groups.empty()) {
    return {VerdictKind::kDifferentCalls, evidence.job().finished_groups.front()};
  }
  std::vector<const RankObservation*> order;
  for (const RankObservation& observation : evidence.observations()) {
    if (observation.condition != ProcessCondition::kEnded) order.push_back(&observation);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return Weight(KindOf(*a)) > Weight(KindOf(*b));
  });
  std::vector<std::string> parts = {"no rank waits for another one in a Muster call"};
  for (size_t i = 0; i < order.size() && i < kMaxNamed; ++i) {
    parts.push_back(
        absl::StrCat(evidence.DescribeMember(*order[i]), ": ", DescribeCondition(*order[i])));
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
    case VerdictKind::kInStore:
      return "in-store";
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

Verdict JudgeWaits(const Evidence& evidence) {
  if (IsOver(evidence.job().state)) return JudgeEnd(evidence);
  if (evidence.job().state == JobState::kRecovering) return JudgeRecovery(evidence);
  const WaitGraph waits(evidence.job());
  if (!waits.empty()) return FollowWaits(evidence, waits);
  if (waits.rejoined_in_vain() > 0) return JudgeRejoined(evidence, waits.rejoined_in_vain());
  const RankObservation* const slowest = SlowestInCommunicator(evidence);
  if (slowest != nullptr) return JudgeCommunicators(evidence, *slowest);
  return evidence.job().store_waits.empty() ? JudgeIdle(evidence) : JudgeStore(evidence);
}

Verdict Judge(const JobStatus& job, const std::vector<RankObservation>& observations,
              const std::vector<LauncherView>& launchers) {
  const Evidence evidence(job, observations, launchers);
  if (job.state != JobState::kForming) return JudgeWaits(evidence);
  Verdict verdict = JudgeForming(evidence);
  // Launchers wait for ranks that may never join.
  if (!job.store_waits.empty()) {
    absl::StrAppend(&verdict.text, "; ",
                    DescribeStoreWaiters(job.store_waits.front(), evidence.node_names()));
  }
  return verdict;
}

}  // namespace muster::core
