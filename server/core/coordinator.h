#ifndef MUSTER_SERVER_CORE_COORDINATOR_H_
#define MUSTER_SERVER_CORE_COORDINATOR_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/core/api/checkpoint.h"
#include "server/core/api/input.h"
#include "server/core/api/options.h"
#include "server/core/api/types.h"
#include "server/core/reports/metrics.h"
#include "server/core/statistics/timeline.h"

namespace muster::core {

// The coordinator of one job, which makes every decision, as a state machine without I/O: a request
// and the time go in, effects come out. Each request is answered by exactly one Reply, in this step
// or a later one (AttachRequest: by one StreamEnd, after its events). CallCancelled (StreamClosed)
// takes the id back before that. Requests that are malformed, or do not fit the state, are answered
// at once and change nothing.
//
// To drive it, in the daemon or in a simulation:
//
//   Coordinator core(options);
//   Effects effects = core.Step(now, id, request);         // each message has an id of its own
//   // Replies end calls, events go to open streams in order, ends close streams.
//   if (core.NextDeadline() <= now) core.Step(now, 0, DeadlineReached());
//
// When a peer is gone, put in CallCancelled for its parked calls and StreamClosed for its stream,
// in any order. To restart the daemon, make a new Coordinator with another Options::instance.
// Nothing else is carried over: the claims of AttachRequests bring back what matters.
//
// Not thread-safe: the caller serializes the steps. `now` must not go back. Tests:
// tests/server/core and tests/simulation.
class Coordinator {
 public:
  // `options` must be valid: see Options::Validate().
  explicit Coordinator(Options options);
  // Continues at that time from the checkpoint of a coordinator with the same options. For replay
  // tools only. A restarted daemon recovers from its members' claims.
  Coordinator(Options options, Time now, const Checkpoint& checkpoint);
  ~Coordinator();

  // Runs one step. `id` names the call or stream that the input begins or ends, or is 0 if there is
  // none. The id of a NodeCollectiveRequest must be below 2^53.
  Effects Step(Time now, WaiterId id, const Input& input);
  // Returns when the next DeadlineReached has work to do, or InfiniteFuture if nothing is due.
  Time NextDeadline() const;

  // Returns the state from which another coordinator can continue, or nullopt while work is in
  // progress.
  std::optional<Checkpoint> MakeCheckpoint() const;

  // Returns NOT_FOUND if `job_id` is neither empty nor this job's.
  absl::Status CheckJob(absl::string_view job_id) const;
  JobStatus GetStatus(Time now, bool with_completed_leases = true) const;
  // Returns the state of the job and of these members. Its cost does not grow with the job. The
  // reason says why the epoch broke or the job ended, but not whom the job waits for.
  JobStatus GetBriefStatus(Time now, const std::vector<Incarnation>& members) const;
  // Returns the latest events, the oldest first.
  std::vector<TimelineEntry> GetTimeline() const;
  Metrics Measure(Time now) const;

  // Returns how the job ended: OK if every member has left, an error that names the loss if it
  // failed, or nullopt while it goes on.
  std::optional<absl::Status> Outcome() const;
  // Returns whether no Attach stream is open.
  bool Quiet() const;

  const Options& options() const;

  // Describes counts that steps rely on and that differ from a new count; empty if all are right.
  // For tests.
  std::string FindWrongCounts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COORDINATOR_H_
