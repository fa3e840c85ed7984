#ifndef MUSTER_SERVER_CORE_REPORTS_STATUS_REPORTER_H_
#define MUSTER_SERVER_CORE_REPORTS_STATUS_REPORTER_H_

#include <string>
#include <vector>

#include "server/core/api/job_status.h"
#include "server/core/formation/forming.h"
#include "server/core/formation/joining.h"
#include "server/core/job/calls.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"
#include "server/core/job/member_table.h"
#include "server/core/leases/leases.h"
#include "server/core/recovery/recovery.h"
#include "server/core/reports/metrics.h"
#include "server/core/store/store.h"

namespace muster::core {

// The coordinator's state as people and monitoring see it: the status page in the words of errors
// (status.cc), and the metrics (metrics.cc). Changes nothing but the effects of the step.
class StatusReporter {
 public:
  StatusReporter(JobContext& job, const store::Store& store, const Lifecycle& life,
                 const MemberTable& members, const Calls& calls, const Leases& leases,
                 const Joining& joining, const Forming& forming, const Recovery& recovery);

  // These do what Coordinator says.
  JobStatus GetStatus(Time now, bool with_completed_leases) const;
  JobStatus GetBriefStatus(Time now, const std::vector<Incarnation>& members) const;
  Metrics Measure(Time now) const;
  // Returns what clients of the store wait for, the longest wait first.
  std::vector<StoreWaiters> StoreWaits(Time now) const;

  // Asks for an inquiry, if one may tell why members wait for too long.
  void Inquire(const std::string& reason);

 private:
  std::string DescribeState() const;
  MemberStatus StatusOf(const Member& member, Time now) const;
  LeaseStatus StatusOf(const LeaseKey& key, const LeaseTable::Lease& lease, Time now) const;
  std::vector<PendingCollective> PendingCollectives(Time now) const;
  std::vector<std::string> NodesWithFanIn() const;
  std::vector<Straggler> Stragglers() const;
  void MeasureCollectives(Time now, Metrics* metrics) const;
  Epoch* epoch() const { return life_.epoch(); }

  JobContext& job_;
  const store::Store& store_;
  const Lifecycle& life_;
  const MemberTable& members_;
  const Calls& calls_;
  const Leases& leases_;
  const Joining& joining_;
  const Forming& forming_;
  const Recovery& recovery_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_REPORTS_STATUS_REPORTER_H_
