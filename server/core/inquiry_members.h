#ifndef MUSTER_SERVER_CORE_INQUIRY_MEMBERS_H_
#define MUSTER_SERVER_CORE_INQUIRY_MEMBERS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "server/core/job_status.h"
#include "server/core/observation.h"

namespace muster::core {

// The members of the job when an inquiry began, and which launcher has told of each. Once the job
// has formed a launcher counts by the members whose secrets it knows: whatever a stranger says is
// about nobody. While places are to be filled, their processes may be unknown to the coordinator,
// and anybody's word is taken.
class InquiryMembers {
 public:
  InquiryMembers() = default;
  explicit InquiryMembers(const JobStatus& job);

  // Every process is one of the members.
  bool complete() const { return complete_; }
  bool Has(const Incarnation& process) const { return members_.contains(process); }
  std::optional<uint32_t> RankOf(const Incarnation& process) const;

  // Whether a launcher of these processes is one of this job.
  bool AreOfTheJob(const std::vector<Incarnation>& processes) const;
  // Whether the launcher has something to tell: of a member that no other one has told of. So there
  // are never more reports than members.
  bool MayTell(const std::string& launcher, const std::vector<Incarnation>& processes) const;
  // Replaces what the launcher has told before.
  void Tell(const std::string& launcher, const std::vector<Incarnation>& processes);
  // Some launcher has told of each member that has a rank.
  bool all_told() const { return untold_ == 0; }

 private:
  struct Member {
    std::optional<uint32_t> rank;
    std::string teller;  // a launcher's id; empty: none
  };

  bool complete_ = false;
  absl::node_hash_map<Incarnation, Member> members_;
  absl::flat_hash_map<std::string, std::vector<Member*>> told_by_;  // by the launcher's id
  size_t untold_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_INQUIRY_MEMBERS_H_
