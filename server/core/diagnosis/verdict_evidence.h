#ifndef MUSTER_SERVER_CORE_DIAGNOSIS_VERDICT_EVIDENCE_H_
#define MUSTER_SERVER_CORE_DIAGNOSIS_VERDICT_EVIDENCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "common/names/node_names.h"
#include "server/core/diagnosis/verdict.h"

namespace muster::core {

// The facts of a verdict, by rank and by process: what the members have called, and what the
// launchers have seen of them. All arguments must outlive this object.
class Evidence {
 public:
  Evidence(const JobStatus& job, const std::vector<RankObservation>& observations,
           const std::vector<LauncherView>& launchers);

  const JobStatus& job() const { return job_; }
  const std::vector<RankObservation>& observations() const { return observations_; }
  const std::vector<LauncherView>& launchers() const { return launchers_; }
  const NodeNames& node_names() const { return node_names_; }

  // Return nullptr if there is none.
  const MemberStatus* MemberOf(uint32_t rank) const;
  const MemberStatus* MemberOf(const Incarnation& incarnation) const;
  const RankObservation* ObservationOf(const MemberStatus& member) const;

  // Returns whether all that holds the member up is its wait in the store, as far as is known.
  bool IsInStore(const MemberStatus& member) const;
  VerdictKind KindOf(const MemberStatus& member) const;
  // Return what the member is doing. DescribeStateAndActivity() adds what it last called.
  std::string DescribeState(const MemberStatus& member) const;
  std::string DescribeStateAndActivity(const MemberStatus& member) const;
  // Returns text such as "rank 3 (host h, pid 4711)".
  std::string DescribeMember(const MemberStatus& member) const;
  std::string DescribeMember(const RankObservation& observation) const;

  // Returns the likeliest of these ranks to hold the others up, or nullptr if none is a member.
  const MemberStatus* LikeliestCulprit(const std::vector<uint32_t>& ranks) const;

 private:
  const JobStatus& job_;
  const std::vector<RankObservation>& observations_;
  const std::vector<LauncherView>& launchers_;
  NodeNames node_names_;
  std::map<uint32_t, const MemberStatus*> by_rank_;
  absl::flat_hash_map<Incarnation, const MemberStatus*> by_incarnation_;
  absl::flat_hash_map<Incarnation, const RankObservation*> observations_by_incarnation_;
  absl::flat_hash_set<Incarnation> silent_;  // processes whose launchers do not answer
};

// Returns "2 others wait" or "1 other waits".
std::string OthersWait(size_t count);

// Returns text such as "6,649".
std::string WithCommas(uint64_t number);

// ---- The parts of Judge() ---- Judges a job in any state but kForming.

Verdict JudgeWaits(const Evidence& evidence);
// Judges a job in kForming, which has no epoch yet.
Verdict JudgeForming(const Evidence& evidence);
// Returns whether the rank is inside an operation of a communicator.
bool InCommunicator(const RankObservation& observation);
// Returns the rank that has been inside an operation for the longest time, or null if none is.
const RankObservation* SlowestInCommunicator(const Evidence& evidence);

// ---- For a rank that is inside an operation of a communicator ----

// Returns text such as "AllReduce, op 30 of communicator 1 of the world, which 7 others have
// ended". Returns an empty text unless all ranks of the communicator have begun the same operation
// and some have ended it.
std::string OperationThatOthersHaveEnded(const Evidence& evidence,
                                         const RankObservation& observation);
// Judges whom the rank waits for, directly or through other communicators, or what the ranks
// disagree on.
Verdict JudgeCommunicators(const Evidence& evidence, const RankObservation& observation);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_DIAGNOSIS_VERDICT_EVIDENCE_H_
