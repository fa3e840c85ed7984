#ifndef MUSTER_SERVER_CORE_JOB_JOB_CONTEXT_H_
#define MUSTER_SERVER_CORE_JOB_JOB_CONTEXT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/core/api/options.h"
#include "server/core/api/types.h"
#include "server/core/job/member_table.h"
#include "server/core/job/outbox.h"
#include "server/core/statistics/counters.h"
#include "server/core/statistics/timeline.h"
#include "server/core/support/byte_budget.h"

namespace muster::core {

// The parts that all owners of a job's state share: the options, the time and the effects of the
// current step, and the counters. Only the driver of the step sets `now` and `draining`.
struct JobContext {
  explicit JobContext(Options job_options);

  bool elastic() const { return options.min_world_size != 0; }
  // Returns NOT_FOUND if `job_id` is neither empty nor this job's.
  absl::Status CheckJob(absl::string_view job_id) const;

  // Writes to the log and the timeline. `kind` is as in Timeline::Add(), and `logged_by_launcher`
  // as in LogLine.
  void Log(Severity severity, std::string text, absl::string_view kind = "",
           bool logged_by_launcher = false);
  // Sends the event if the member is attached.
  void Send(const Member& member, SharedEvent event, bool urgent = false);

  const Options options;
  Time now;
  Outbox out;
  Timeline timeline;
  Tally tally;
  ByteBudget budget;
  std::optional<std::string> draining;  // the reason, once the daemon is about to stop
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_JOB_JOB_CONTEXT_H_
