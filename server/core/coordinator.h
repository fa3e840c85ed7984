#ifndef MUSTER_SERVER_CORE_COORDINATOR_H_
#define MUSTER_SERVER_CORE_COORDINATOR_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/core/checkpoint.h"
#include "server/core/input.h"
#include "server/core/metrics.h"
#include "server/core/options.h"
#include "server/core/timeline.h"
#include "server/core/types.h"

namespace muster::core {

// Every decision of one job's coordinator, as a state machine without I/O: a request and the time
// go in, effects come out. Each request is answered by exactly one Reply (AttachRequest: one
// StreamEnd, after its events), in this step or a later one, unless CallCancelled (StreamClosed)
// takes its id back first. Requests that are malformed or do not fit the state are
// answered at once and change nothing.
//
// To drive it, in the daemon or in a simulation: give every message that arrives an id of its own,
// put it in, and carry the effects out: `replies` end calls, `events` go to open streams in order,
// `ends` close streams, `log` is for people. Put DeadlineReached in when NextDeadline() has come.
// When a peer is gone, put in CallCancelled for its parked calls and StreamClosed for its stream,
// in any order. To restart the daemon, make a new Coordinator with another Options::instance:
// nothing else is carried over, what matters comes back in the claims of AttachRequest.
//
// Not thread-safe: the caller serializes the steps. `now` must not go back.
class Coordinator {
 public:
  // `options` must be valid.
  explicit Coordinator(Options options);
  // Goes on, at that time, from the checkpoint of one with the same options. For who wants to know
  // what that one did: a daemon that starts again has its members' claims instead.
  Coordinator(Options options, Time now, const Checkpoint& checkpoint);
  ~Coordinator();

  // One step. `id` names the call or stream that the input begins or ends; 0 where there is none.
  // The id of a NodeCollectiveRequest must be below 2^53.
  Effects Step(Time now, WaiterId id, const Input& input);
  // When a DeadlineReached has something to do next; InfiniteFuture if nothing is due.
  Time NextDeadline() const;

  // What another coordinator needs to go on from here; nullopt while something is under way.
  std::optional<Checkpoint> MakeCheckpoint() const;

  // Whose NOT_FOUND is answered if `job_id` is neither empty nor this job's.
  absl::Status CheckJob(absl::string_view job_id) const;
  JobStatus GetStatus(Time now, bool with_completed_leases = true) const;
  // How far the job is, and these members of it: costs little, however large it is. The reason is
  // there where the job waits for nobody.
  JobStatus GetBriefStatus(Time now, const std::vector<Incarnation>& members) const;
  // What has happened of late, the oldest first.
  std::vector<TimelineEntry> GetTimeline() const;
  Metrics Measure(Time now) const;

  // How the job ended: OK if every member has left, an error that names the loss if it failed;
  // nullopt while it goes on.
  std::optional<absl::Status> Outcome() const;
  // No Attach stream is open.
  bool Quiet() const;

  const Options& options() const;

  // Counts that steps rely on, and that are not what counting anew comes to; empty: all are right.
  // For tests.
  std::string FindWrongCounts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COORDINATOR_H_
