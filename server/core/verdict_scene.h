#ifndef MUSTER_SERVER_CORE_VERDICT_SCENE_H_
#define MUSTER_SERVER_CORE_VERDICT_SCENE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "common/node_names.h"
#include "server/core/verdict.h"

namespace muster::core {

// What a verdict is made of, by rank and by process: what the members have called, and what the
// launchers have seen of them. Everything that is given must outlive this object.
class Scene {
 public:
  Scene(const JobStatus& job, const std::vector<RankObservation>& seen,
        const std::vector<LauncherView>& launchers);

  const JobStatus& job() const { return job_; }
  const std::vector<RankObservation>& seen() const { return seen_; }
  const std::vector<LauncherView>& launchers() const { return launchers_; }
  const NodeNames& node_names() const { return node_names_; }

  // nullptr where there is none.
  const MemberStatus* MemberOf(uint32_t rank) const;
  const MemberStatus* MemberOf(const Incarnation& incarnation) const;
  const RankObservation* SeenOf(const MemberStatus& member) const;

  VerdictKind KindOf(const MemberStatus& member) const;
  // What the member is doing; and the same with what it last called.
  std::string DescribeDoing(const MemberStatus& member) const;
  std::string Describe(const MemberStatus& member) const;
  // "rank 3 (host h, pid 4711)".
  std::string Who(const MemberStatus& member) const;
  std::string Who(const RankObservation& seen) const;

  // Of these ranks, the one that is the likeliest to hold the others up.
  const MemberStatus* Worst(const std::vector<uint32_t>& ranks) const;

 private:
  const JobStatus& job_;
  const std::vector<RankObservation>& seen_;
  const std::vector<LauncherView>& launchers_;
  NodeNames node_names_;
  std::map<uint32_t, const MemberStatus*> by_rank_;
  absl::flat_hash_map<Incarnation, const MemberStatus*> by_incarnation_;
  absl::flat_hash_map<Incarnation, const RankObservation*> seen_by_incarnation_;
  absl::flat_hash_set<Incarnation> silent_;  // processes whose launchers do not answer
};

// "2 others wait", "1 other waits".
std::string OthersWait(size_t count);

// "6,649".
std::string WithCommas(uint64_t number);

// ---- The parts of Judge(); each but the first is for a state of its own ----

Verdict JudgeWaits(const Scene& scene);
// A job that has no epoch yet.
Verdict JudgeForming(const Scene& scene);
// Whether the rank is inside an operation of a communicator.
bool InACommunicator(const RankObservation& seen);
// The one that has been inside one for the longest time; null: none is.
const RankObservation* SlowestInACommunicator(const Scene& scene);

// ---- Of a rank that is inside an operation of a communicator ----

// Where all others of it have been through the same one: "AllReduce, op 30 of communicator 1 of the
// world, which 7 others have ended". Empty where it is otherwise.
std::string OperationThatOthersHaveEnded(const Scene& scene, const RankObservation& seen);
// Whom it waits for there, directly or through other communicators; or what they disagree on.
Verdict JudgeCommunicators(const Scene& scene, const RankObservation& seen);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_VERDICT_SCENE_H_
