#ifndef MUSTER_SERVER_CORE_DIAGNOSIS_INQUIRY_MEMBERS_H_
#define MUSTER_SERVER_CORE_DIAGNOSIS_INQUIRY_MEMBERS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "server/core/api/job_status.h"
#include "server/core/api/observation.h"

namespace muster::core {

// The members of the job when an inquiry began, and the launcher that has told of each. Once the
// job has formed, a launcher counts by the members whose secrets it knows, so the word of a
// stranger is about no member. While places are empty, processes may be unknown to the coordinator,
// and the word of every launcher is taken.
class InquiryMembers {
 public:
  InquiryMembers() = default;
  explicit InquiryMembers(const JobStatus& job);

  // Returns whether every process of the job is one of the members.
  bool complete() const { return complete_; }
  bool Has(const Incarnation& process) const { return members_.contains(process); }
  std::optional<uint32_t> RankOf(const Incarnation& process) const;

  // Returns whether a launcher of these processes belongs to this job.
  bool AreOfTheJob(const std::vector<Incarnation>& processes) const;
  // Returns whether the launcher may tell of a member that no other launcher has told of. So there
  // are never more reports than members.
  bool MayTell(const std::string& launcher, const std::vector<Incarnation>& processes) const;
  // Notes what the launcher tells of, in place of what it told of before.
  void Tell(const std::string& launcher, const std::vector<Incarnation>& processes);
  // Returns whether launchers have told of every member that has a rank.
  bool all_told() const { return untold_ == 0; }

 private:
  struct Member {
    std::optional<uint32_t> rank;
    std::string teller;  // the launcher's id; empty: none has
  };

  bool complete_ = false;
  absl::node_hash_map<Incarnation, Member> members_;
  absl::flat_hash_map<std::string, std::vector<Member*>> told_by_;  // by the launcher's id
  size_t untold_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_DIAGNOSIS_INQUIRY_MEMBERS_H_
