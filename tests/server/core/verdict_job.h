#ifndef MUSTER_TESTS_SERVER_CORE_VERDICT_JOB_H_
#define MUSTER_TESTS_SERVER_CORE_VERDICT_JOB_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/diagnosis/verdict.h"

namespace muster::core {

// The end of each sentence about a member of Running().
inline constexpr char kLast[] = " (last completed Barrier('step 811') op 811 of the world 4m)";

inline std::string NameOfProcess(uint32_t rank) { return absl::StrCat("process ", rank); }

// Returns a job of `size` ranks, two on each node, all of which are computing.
inline JobStatus Running(uint32_t size) {
  JobStatus job;
  job.state = JobState::kRunning;
  job.world_size = size;
  for (uint32_t rank = 0; rank < size; ++rank) {
    MemberStatus member;
    member.rank = rank;
    member.member = {NameOfProcess(rank), 0, absl::StrCat("n", rank / 2), "h", 100 + rank};
    member.state = MemberState::kRunning;
    member.activity = "last completed Barrier('step 811') op 811 of the world 4m";
    job.members.push_back(member);
  }
  return job;
}

inline PendingCollective Pending(std::vector<uint32_t> arrived, std::vector<uint32_t> missing,
                                 absl::Duration age = absl::Minutes(5)) {
  PendingCollective pending;
  pending.sequence = 812;
  pending.operation = "Barrier('step 812')";
  pending.arrived = std::move(arrived);
  pending.missing = std::move(missing);
  pending.age = age;
  return pending;
}

// Returns a job of four ranks, three of which wait in a barrier for rank 3.
inline JobStatus AllButRank3() {
  JobStatus job = Running(4);
  job.pending.push_back(Pending({0, 1, 2}, {3}));
  return job;
}

inline RankObservation Observation(uint32_t rank, ProcessCondition condition,
                                   const std::string& call = "", const std::string& target = "") {
  RankObservation seen;
  seen.incarnation = NameOfProcess(rank);
  seen.rank = rank;
  seen.pid = 100 + rank;
  seen.node = absl::StrCat("n", rank / 2);
  seen.condition = condition;
  seen.call = call;
  seen.target = target;
  return seen;
}

inline const std::vector<LauncherView> kBothAnswer = {{"n0", true}, {"n1", true}};

}  // namespace muster::core

#endif  // MUSTER_TESTS_SERVER_CORE_VERDICT_JOB_H_
