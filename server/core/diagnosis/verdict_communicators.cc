// The communicators' part of a verdict: which rank fell behind in their operations.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "server/core/api/describe.h"
#include "server/core/diagnosis/condition_description.h"
#include "server/core/diagnosis/verdict_evidence.h"

namespace muster::core {
namespace {

// A rank's part in one communicator.
struct Part {
  const RankObservation* observation;
  const CommunicatorCount* count;
};

// The parts of all ranks, by the communicator's name.
using Parts = absl::flat_hash_map<absl::string_view, std::vector<Part>>;

Parts PartsOf(const Evidence& evidence) {
  Parts all;
  for (const RankObservation& observation : evidence.observations()) {
    for (const CommunicatorCount& count : observation.communicators) {
      all[count.name].push_back({&observation, &count});
    }
  }
  return all;
}

// Returns the parts in one communicator, without making the map of all.
std::vector<Part> PartsIn(const Evidence& evidence, const std::string& name) {
  std::vector<Part> parts;
  for (const RankObservation& observation : evidence.observations()) {
    for (const CommunicatorCount& count : observation.communicators) {
      if (count.name == name) parts.push_back({&observation, &count});
    }
  }
  return parts;
}

bool Inside(const CommunicatorCount& count) { return count.begun > count.ended; }

// Returns the operation that has taken the longest among those that a rank is inside, or null if it
// is in none.
const CommunicatorCount* OperationOf(const RankObservation& observation) {
  const CommunicatorCount* slowest = nullptr;
  for (const CommunicatorCount& count : observation.communicators) {
    if (Inside(count) && (slowest == nullptr || count.since > slowest->since)) slowest = &count;
  }
  return slowest;
}

// Returns whether the others likelier wait for `a` than for `b`, which are equally far. A rank that
// waits in no other communicator is likelier, and then the rank whose condition weighs more.
bool IsLikelier(const Part& a, const Part& b) {
  const auto waits_elsewhere = [](const Part& part) {
    const CommunicatorCount* const in = OperationOf(*part.observation);
    return in != nullptr && in->name != part.count->name;
  };
  const bool b_waits = waits_elsewhere(b);
  return waits_elsewhere(a) == b_waits
             ? Weight(KindOf(*a.observation)) > Weight(KindOf(*b.observation))
             : b_waits;
}

// The progress of a communicator's ranks relative to each other.
struct CommunicatorProgress {
  std::string name;
  std::vector<Part> parts;   // of all ranks
  Part first;                // the one that is the least far
  Part last;                 // the one that is the furthest
  std::vector<Part> inside;  // the parts that are as far as `last` and inside its operation
  bool together;             // all parts are as far as `last`
  std::string last_op;       // "op 30 of communicator 1 of the world"
};

CommunicatorProgress ProgressIn(const std::string& name, std::vector<Part> parts) {
  CommunicatorProgress progress;
  progress.name = name;
  progress.parts = std::move(parts);
  progress.first = progress.last = progress.parts.front();
  for (const Part& part : progress.parts) {
    const uint64_t least = progress.first.count->begun;
    if (part.count->begun < least ||
        (part.count->begun == least && IsLikelier(part, progress.first))) {
      progress.first = part;
    }
    if (part.count->begun > progress.last.count->begun) progress.last = part;
  }
  const uint64_t begun = progress.last.count->begun;
  for (const Part& part : progress.parts) {
    if (part.count->begun == begun && Inside(*part.count)) progress.inside.push_back(part);
  }
  progress.together = progress.first.count->begun == begun;
  progress.last_op = absl::StrCat("op ", WithCommas(begun), " of ", name);
  return progress;
}

// Returns the rank of a process. In an elastic job its launcher does not know the rank, and the
// process may not be a member any more.
std::optional<uint32_t> RankOf(const Evidence& evidence, const RankObservation& observation) {
  const MemberStatus* const member = evidence.MemberOf(observation.incarnation);
  return member != nullptr && member->rank ? member->rank : observation.rank;
}

// Returns "ranks 0,2 are", or "2 processes are" if some have no rank.
std::string DescribeParts(const Evidence& evidence, const std::vector<Part>& parts) {
  const char* const are = parts.size() == 1 ? " is" : " are";
  std::vector<uint32_t> ranks;
  for (const Part& part : parts) {
    const std::optional<uint32_t> rank = RankOf(evidence, *part.observation);
    if (rank) ranks.push_back(*rank);
  }
  if (ranks.size() < parts.size()) {
    return absl::StrCat(parts.size(), parts.size() == 1 ? " process" : " processes", are);
  }
  std::sort(ranks.begin(), ranks.end());
  return absl::StrCat(Ranks(ranks), are);
}

// Returns text such as "ranks 0,2 are in AllReduce of 32 bytes".
std::string DescribeInside(const Evidence& evidence, const std::vector<Part>& parts,
                           const std::string& operation) {
  return absl::StrCat(DescribeParts(evidence, parts), " in ", operation);
}

std::string DescribeSides(const Evidence& evidence,
                          const std::map<std::string, std::vector<Part>>& sides) {
  std::vector<std::string> texts;
  for (const auto& [operation, parts] : sides) {
    texts.push_back(DescribeInside(evidence, parts, operation));
  }
  return absl::StrJoin(texts, ", ");
}

// Describes where a rank is that others have left behind.
std::string DescribeStop(const CommunicatorCount& count) {
  const bool inside = Inside(count);
  return absl::StrCat("op ", WithCommas(inside ? count.begun : count.begun + 1), " of ", count.name,
                      inside ? ", which it has not ended" : ", which it has not begun");
}

std::string DescribeAhead(const CommunicatorProgress& progress) {
  const CommunicatorCount& last = *progress.last.count;
  const size_t inside = progress.inside.size();
  if (inside == 0) {
    return absl::StrCat("others have ended ", last.operation, ", ", progress.last_op);
  }
  return absl::StrCat(inside, inside == 1 ? " other is in " : " others are in ", last.operation,
                      ", ", progress.last_op, ", for ", DescribeDuration(last.since));
}

// Judges a communicator in which all ranks have begun the same operation and not all have ended it.
Verdict JudgeSameOperation(const Evidence& evidence, const CommunicatorProgress& progress) {
  const std::vector<Part>& inside = progress.inside;
  std::map<std::string, std::vector<Part>> sides;
  const Part* worst = &inside.front();
  for (const Part& part : inside) {
    sides[part.count->operation].push_back(part);
    if (Weight(KindOf(*part.observation)) > Weight(KindOf(*worst->observation))) worst = &part;
  }
  if (sides.size() > 1) {
    return {VerdictKind::kDisagreement, absl::StrCat("ranks disagree on ", progress.last_op, ": ",
                                                     DescribeSides(evidence, sides))};
  }
  const bool some_have_left = inside.size() < progress.parts.size();
  const VerdictKind kind = KindOf(*worst->observation);
  const std::string all = absl::StrCat(
      inside.size(), " of ", progress.parts.size(), " ranks ", inside.size() == 1 ? "is" : "are",
      " in ", sides.begin()->first, ", ", progress.last_op, ", for ",
      DescribeDuration(worst->count->since), some_have_left ? ", which the others have ended" : "");
  if (some_have_left || Weight(kind) >= Weight(VerdictKind::kUninterruptible)) {
    return {kind, absl::StrCat(evidence.DescribeMember(*worst->observation), ": ",
                               DescribeCondition(*worst->observation), "; ", all)};
  }
  return {VerdictKind::kAllInOneCall,
          absl::StrCat(all, ": the cause is outside these processes, in the network or a GPU")};
}

// Describes what a rank does that has not begun the operation of the others. Adds the call of
// Muster's in which it waits, if it does.
std::string DescribeElsewhere(const Evidence& evidence, const RankObservation& observation) {
  const MemberStatus* const member = evidence.MemberOf(observation.incarnation);
  if (member != nullptr && evidence.IsInStore(*member)) return evidence.DescribeState(*member);
  const bool waits = member != nullptr && !member->waiting_in.empty();
  return absl::StrCat(DescribeCondition(observation),
                      waits ? absl::StrCat(", waiting in ", member->waiting_in, " for ",
                                           DescribeDuration(member->waiting_for))
                            : "");
}

Verdict JudgeFellBehind(const Evidence& evidence, const CommunicatorProgress& progress) {
  return {VerdictKind::kFellBehind,
          absl::StrCat(evidence.DescribeMember(*progress.first.observation), " stopped first, at ",
                       DescribeStop(*progress.first.count), ": ",
                       DescribeElsewhere(evidence, *progress.first.observation), "; ",
                       DescribeAhead(progress))};
}

using Path = std::vector<CommunicatorProgress>;

Verdict JudgeCycle(const Evidence& evidence, Path::const_iterator begin, Path::const_iterator end) {
  std::vector<std::string> texts;
  for (auto it = begin; it != end; ++it) {
    texts.push_back(DescribeInside(evidence, it->inside,
                                   absl::StrCat(it->last.count->operation, ", ", it->last_op)));
  }
  return {VerdictKind::kDifferentCalls,
          absl::StrCat("ranks wait for each other in different communicators: ",
                       absl::StrJoin(texts, ", and "), "; none of these calls can complete")};
}

}  // namespace

bool InCommunicator(const RankObservation& observation) {
  return std::any_of(observation.communicators.begin(), observation.communicators.end(), Inside);
}

const RankObservation* SlowestInCommunicator(const Evidence& evidence) {
  const RankObservation* slowest = nullptr;
  absl::Duration longest;
  for (const RankObservation& observation : evidence.observations()) {
    const CommunicatorCount* const in = OperationOf(observation);
    if (in == nullptr || (slowest != nullptr && in->since <= longest)) continue;
    slowest = &observation;
    longest = in->since;
  }
  return slowest;
}

std::string OperationThatOthersHaveEnded(const Evidence& evidence,
                                         const RankObservation& observation) {
  const std::string& name = OperationOf(observation)->name;
  const CommunicatorProgress progress = ProgressIn(name, PartsIn(evidence, name));
  const size_t left = progress.parts.size() - progress.inside.size();
  if (!progress.together || left == 0) return "";
  return absl::StrCat(progress.inside.front().count->operation, ", ", progress.last_op, ", which ",
                      left, left == 1 ? " other has ended" : " others have ended");
}

// Follows waits across communicators. A rank that is behind in one may itself wait in another: it
// may be in a tensor-parallel group and in a data-parallel one.
Verdict JudgeCommunicators(const Evidence& evidence, const RankObservation& start) {
  const Parts all = PartsOf(evidence);
  Path path;
  const CommunicatorCount* in = OperationOf(start);
  while (true) {
    path.push_back(ProgressIn(in->name, all.at(in->name)));
    const CommunicatorProgress& progress = path.back();
    if (progress.together) return JudgeSameOperation(evidence, progress);
    in = OperationOf(*progress.first.observation);
    if (in == nullptr || in->name == progress.name) return JudgeFellBehind(evidence, progress);
    const auto cycle =
        std::find_if(path.begin(), path.end(),
                     [&](const CommunicatorProgress& earlier) { return earlier.name == in->name; });
    if (cycle != path.end()) return JudgeCycle(evidence, cycle, path.end());
  }
}

}  // namespace muster::core
