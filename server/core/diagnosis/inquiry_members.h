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

// The members of the job when an inquiry began, and the launcher that reports on each. Once the
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
  // Returns whether the launcher may report on a member that no other launcher has reported on. So
  // there are never more reports than members.
  bool MayReportOn(const std::string& launcher, const std::vector<Incarnation>& processes) const;
  // Notes the processes that the launcher reports on, in place of those of its last report.
  void NoteReport(const std::string& launcher, const std::vector<Incarnation>& processes);
  // Returns whether launchers have reported on every member that has a rank.
  bool all_reported() const { return unreported_ == 0; }

 private:
  struct Member {
    std::optional<uint32_t> rank;
    std::string reporter;  // the launcher's id; empty: none has
  };

  bool complete_ = false;
  absl::node_hash_map<Incarnation, Member> members_;
  absl::flat_hash_map<std::string, std::vector<Member*>> reported_by_;  // by the launcher's id
  size_t unreported_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_DIAGNOSIS_INQUIRY_MEMBERS_H_
