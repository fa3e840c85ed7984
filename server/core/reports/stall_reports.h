#ifndef MUSTER_SERVER_CORE_REPORTS_STALL_REPORTS_H_
#define MUSTER_SERVER_CORE_REPORTS_STALL_REPORTS_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/core/api/effects.h"
#include "server/core/formation/forming.h"
#include "server/core/formation/joining.h"
#include "server/core/group/collective_group.h"
#include "server/core/job/calls.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"
#include "server/core/job/stall_watch.h"
#include "server/core/members/membership.h"
#include "server/core/recovery/recovery.h"
#include "server/core/reports/status_reporter.h"
#include "server/core/support/stall_clock.h"

namespace muster::core {

// The reports of stalls. They tell the waiting members, and the log, whom they wait for when no
// member arrives for a while.
class StallReports {
 public:
  StallReports(JobContext& job, const Lifecycle& life, const Calls& calls, StallWatch& stalls,
               Joining& joining, const Forming& forming, Membership& membership, Recovery& recovery,
               StatusReporter& status_reporter);

  // Reports what has waited for too long, if a check is due.
  void Check();

 private:
  struct Stall {
    std::string operation;
    Time since;
    std::string usual;  // the usual length of such a wait, if it is known
    std::string why;    // includes which members are missing
    std::vector<MissingMember> missing;
    std::vector<MissingMember> gave_up;
    std::vector<const Member*> waiting;
  };

  // Each of these reports what is due, and returns when to look again.
  Time CheckStall(StallClock* clock, absl::Duration unusual, absl::FunctionRef<Stall()> describe);
  Time CheckRecovery();
  Time CheckCollectives();
  Time CheckLeave();
  Time CheckForming();

  Stall StalledCollective(const CollectiveGroup& group) const;
  Stall StalledLeave() const;
  Stall StalledForming() const;
  Stall StalledRecovery() const;
  void Announce(const Stall& stall);
  Epoch* epoch() const { return life_.epoch(); }

  JobContext& job_;
  const Lifecycle& life_;
  const Calls& calls_;
  StallWatch& stalls_;
  Joining& joining_;
  const Forming& forming_;
  Membership& membership_;
  Recovery& recovery_;
  StatusReporter& status_reporter_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_REPORTS_STALL_REPORTS_H_
