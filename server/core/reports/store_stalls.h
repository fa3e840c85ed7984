#ifndef MUSTER_SERVER_CORE_REPORTS_STORE_STALLS_H_
#define MUSTER_SERVER_CORE_REPORTS_STORE_STALLS_H_

#include <cstdint>

#include "server/core/job/job_context.h"
#include "server/core/job/member_table.h"
#include "server/core/reports/status_reporter.h"
#include "server/core/store/store.h"
#include "server/core/support/stall_clock.h"

namespace muster::core {

// The reports of operations on the store that have waited for long. The first report is due when
// the oldest of them has waited for --stall-warning, and another one whenever its wait has doubled.
// A report names all that wait.
class StoreStalls {
 public:
  StoreStalls(JobContext& job, const store::Store& store, const MemberTable& members,
              StatusReporter& status_reporter)
      : job_(job), store_(store), members_(members), status_reporter_(status_reporter) {}

  // Notes the end of a step, in which an operation may have begun to wait.
  void NoteStep();
  // Reports what has waited for too long, if a check is due.
  void Check();
  void Stop();
  Time NextStep() const { return next_; }

 private:
  void Announce();

  JobContext& job_;
  const store::Store& store_;
  const MemberTable& members_;
  StatusReporter& status_reporter_;
  Time next_ = absl::InfiniteFuture();
  uint64_t oldest_ = 0;  // the serial number of the operation that the clock belongs to
  StallClock clock_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_REPORTS_STORE_STALLS_H_
