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
#include "server/core/diagnosis/condition_words.h"
#include "server/core/diagnosis/verdict_scene.h"

namespace muster::core {
namespace {

// A rank's part in one communicator.
struct Part {
  const RankObservation* seen;
  const CommunicatorCount* count;
};

// The parts of all ranks, by the communicator's name.
using Parts = absl::flat_hash_map<absl::string_view, std::vector<Part>>;

Parts PartsOf(const Scene& scene) {
  Parts all;
  for (const RankObservation& seen : scene.seen()) {
    for (const CommunicatorCount& count : seen.communicators) {
      all[count.name].push_back({&seen, &count});
    }
  }
  return all;
}

// Returns the parts in one communicator, without making the map of all.
std::vector<Part> PartsIn(const Scene& scene, const std::string& name) {
  std::vector<Part> parts;
  for (const RankObservation& seen : scene.seen()) {
    for (const CommunicatorCount& count : seen.communicators) {
      if (count.name == name) parts.push_back({&seen, &count});
    }
  }
  return parts;
}

bool Inside(const CommunicatorCount& count) { return count.begun > count.ended; }

// Returns the operation that has taken the longest among those that a rank is inside, or null if it
// is in none.
const CommunicatorCount* OperationOf(const RankObservation& seen) {
  const CommunicatorCount* slowest = nullptr;
  for (const CommunicatorCount& count : seen.communicators) {
    if (Inside(count) && (slowest == nullptr || count.since > slowest->since)) slowest = &count;
  }
  return slowest;
}

// Returns whether the others likelier wait for `a` than for `b`, which are equally far. A rank that
// waits in no other communicator is likelier, and then the rank whose condition weighs more.
bool IsLikelier(const Part& a, const Part& b) {
  const auto waits_elsewhere = [](const Part& part) {
    const CommunicatorCount* const in = OperationOf(*part.seen);
    return in != nullptr && in->name != part.count->name;
  };
  const bool b_waits = waits_elsewhere(b);
  return waits_elsewhere(a) == b_waits ? Weight(KindOf(*a.seen)) > Weight(KindOf(*b.seen))
                                       : b_waits;
}

// The progress of a communicator's ranks relative to each other.
struct Standing {
  std::string name;
  std::vector<Part> parts;   // of all ranks
  Part first;                // the one that is the least far
  Part last;                 // the one that is the furthest
  std::vector<Part> inside;  // the parts that are as far as `last` and inside its operation
  bool together;             // all parts are as far as `last`
  std::string last_op;       // "op 30 of communicator 1 of the world"
};

Standing StandingIn(const std::string& name, std::vector<Part> parts) {
  Standing standing;
  standing.name = name;
  standing.parts = std::move(parts);
  standing.first = standing.last = standing.parts.front();
  for (const Part& part : standing.parts) {
    const uint64_t least = standing.first.count->begun;
    if (part.count->begun < least ||
        (part.count->begun == least && IsLikelier(part, standing.first))) {
      standing.first = part;
    }
    if (part.count->begun > standing.last.count->begun) standing.last = part;
  }
  const uint64_t begun = standing.last.count->begun;
  for (const Part& part : standing.parts) {
    if (part.count->begun == begun && Inside(*part.count)) standing.inside.push_back(part);
  }
  standing.together = standing.first.count->begun == begun;
  standing.last_op = absl::StrCat("op ", WithCommas(begun), " of ", name);
  return standing;
}

// Returns the rank of a process. In an elastic job its launcher does not know the rank, and the
// process may not be a member any more.
std::optional<uint32_t> RankOf(const Scene& scene, const RankObservation& seen) {
  const MemberStatus* const member = scene.MemberOf(seen.incarnation);
  return member != nullptr && member->rank ? member->rank : seen.rank;
}

// Returns "ranks 0,2 are", or "2 processes are" if some have no rank.
std::string DescribeParts(const Scene& scene, const std::vector<Part>& parts) {
  const char* const are = parts.size() == 1 ? " is" : " are";
  std::vector<uint32_t> ranks;
  for (const Part& part : parts) {
    const std::optional<uint32_t> rank = RankOf(scene, *part.seen);
    if (rank) ranks.push_back(*rank);
  }
  if (ranks.size() < parts.size()) {
    return absl::StrCat(parts.size(), parts.size() == 1 ? " process" : " processes", are);
  }
  std::sort(ranks.begin(), ranks.end());
  return absl::StrCat(Ranks(ranks), are);
}

// Returns text such as "ranks 0,2 are in AllReduce of 32 bytes".
std::string DescribeInside(const Scene& scene, const std::vector<Part>& parts,
                           const std::string& operation) {
  return absl::StrCat(DescribeParts(scene, parts), " in ", operation);
}

std::string DescribeSides(const Scene& scene,
                          const std::map<std::string, std::vector<Part>>& sides) {
  std::vector<std::string> texts;
  for (const auto& [operation, parts] : sides) {
    texts.push_back(DescribeInside(scene, parts, operation));
  }
  return absl::StrJoin(texts, ", ");
}

// Describes where a rank is that others have left behind.
std::string DescribeStop(const CommunicatorCount& count) {
  const bool inside = Inside(count);
  return absl::StrCat("op ", WithCommas(inside ? count.begun : count.begun + 1), " of ", count.name,
                      inside ? ", which it has not ended" : ", which it has not begun");
}

std::string DescribeAhead(const Standing& standing) {
  const CommunicatorCount& last = *standing.last.count;
  const size_t inside = standing.inside.size();
  if (inside == 0) {
    return absl::StrCat("others have ended ", last.operation, ", ", standing.last_op);
  }
  return absl::StrCat(inside, inside == 1 ? " other is in " : " others are in ", last.operation,
                      ", ", standing.last_op, ", for ", HowLong(last.since));
}

// Judges a communicator in which all ranks have begun the same operation and not all have ended it.
Verdict JudgeTogether(const Scene& scene, const Standing& standing) {
  const std::vector<Part>& inside = standing.inside;
  std::map<std::string, std::vector<Part>> sides;
  const Part* worst = &inside.front();
  for (const Part& part : inside) {
    sides[part.count->operation].push_back(part);
    if (Weight(KindOf(*part.seen)) > Weight(KindOf(*worst->seen))) worst = &part;
  }
  if (sides.size() > 1) {
    return {VerdictKind::kDisagreement, absl::StrCat("ranks disagree on ", standing.last_op, ": ",
                                                     DescribeSides(scene, sides))};
  }
  const bool some_have_left = inside.size() < standing.parts.size();
  const VerdictKind kind = KindOf(*worst->seen);
  const std::string all = absl::StrCat(
      inside.size(), " of ", standing.parts.size(), " ranks ", inside.size() == 1 ? "is" : "are",
      " in ", sides.begin()->first, ", ", standing.last_op, ", for ", HowLong(worst->count->since),
      some_have_left ? ", which the others have ended" : "");
  if (some_have_left || Weight(kind) >= Weight(VerdictKind::kUninterruptible)) {
    return {kind, absl::StrCat(scene.Who(*worst->seen), ": ", DescribeCondition(*worst->seen), "; ",
                               all)};
  }
  return {VerdictKind::kAllInOneCall,
          absl::StrCat(all, ": what holds them up is below them, in the network or a GPU")};
}

// Describes what a rank does that has not begun the operation of the others. Adds the call of
// Muster's in which it waits, if it does.
std::string DescribeElsewhere(const Scene& scene, const RankObservation& seen) {
  const MemberStatus* const member = scene.MemberOf(seen.incarnation);
  const bool waits = member != nullptr && !member->waiting_in.empty();
  return absl::StrCat(DescribeCondition(seen),
                      waits ? absl::StrCat(", waiting in ", member->waiting_in, " for ",
                                           HowLong(member->waiting_for))
                            : "");
}

Verdict FellBehind(const Scene& scene, const Standing& standing) {
  return {
      VerdictKind::kFellBehind,
      absl::StrCat(scene.Who(*standing.first.seen), " stopped first, at ",
                   DescribeStop(*standing.first.count), ": ",
                   DescribeElsewhere(scene, *standing.first.seen), "; ", DescribeAhead(standing))};
}

using Path = std::vector<Standing>;

Verdict Circle(const Scene& scene, Path::const_iterator begin, Path::const_iterator end) {
  std::vector<std::string> texts;
  for (auto it = begin; it != end; ++it) {
    texts.push_back(DescribeInside(scene, it->inside,
                                   absl::StrCat(it->last.count->operation, ", ", it->last_op)));
  }
  return {VerdictKind::kDifferentCalls,
          absl::StrCat("ranks wait for each other in different communicators: ",
                       absl::StrJoin(texts, ", and "), "; none of these can end")};
}

}  // namespace

bool InACommunicator(const RankObservation& seen) {
  return std::any_of(seen.communicators.begin(), seen.communicators.end(), Inside);
}

const RankObservation* SlowestInACommunicator(const Scene& scene) {
  const RankObservation* slowest = nullptr;
  absl::Duration longest;
  for (const RankObservation& seen : scene.seen()) {
    const CommunicatorCount* const in = OperationOf(seen);
    if (in == nullptr || (slowest != nullptr && in->since <= longest)) continue;
    slowest = &seen;
    longest = in->since;
  }
  return slowest;
}

std::string OperationThatOthersHaveEnded(const Scene& scene, const RankObservation& seen) {
  const std::string& name = OperationOf(seen)->name;
  const Standing standing = StandingIn(name, PartsIn(scene, name));
  const size_t left = standing.parts.size() - standing.inside.size();
  if (!standing.together || left == 0) return "";
  return absl::StrCat(standing.inside.front().count->operation, ", ", standing.last_op, ", which ",
                      left, left == 1 ? " other has ended" : " others have ended");
}

// Follows waits across communicators. A rank that is behind in one may itself wait in another: it
// may be in a tensor-parallel group and in a data-parallel one.
Verdict JudgeCommunicators(const Scene& scene, const RankObservation& start) {
  const Parts all = PartsOf(scene);
  Path path;
  const CommunicatorCount* in = OperationOf(start);
  while (true) {
    path.push_back(StandingIn(in->name, all.at(in->name)));
    const Standing& standing = path.back();
    if (standing.together) return JudgeTogether(scene, standing);
    in = OperationOf(*standing.first.seen);
    if (in == nullptr || in->name == standing.name) return FellBehind(scene, standing);
    const auto seen = std::find_if(path.begin(), path.end(),
                                   [&](const Standing& one) { return one.name == in->name; });
    if (seen != path.end()) return Circle(scene, seen, path.end());
  }
}

}  // namespace muster::core
