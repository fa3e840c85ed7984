#ifndef MUSTER_CLIENT_SRC_SHARED_SESSION_H_
#define MUSTER_CLIENT_SRC_SHARED_SESSION_H_

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "client/src/identity.h"
#include "client/src/session_state.h"
#include "client/src/steady_clock.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::internal {

// Who a connection is for, and where it goes.
struct ConnectionOptions {
  std::string coordinator;  // as the user wrote it, for messages
  std::string job_id;
  Identity identity;
  // How long a call keeps trying while the coordinator does not answer.
  absl::Duration coordinator_timeout;
  // How much longer than a call's time-out its answer may take: at the time-out it is the
  // coordinator that answers, since it knows what was missing.
  absl::Duration slack = absl::Seconds(5);
};

// What the thread that keeps the session and the threads that wait in calls share.
struct SharedSession {
  std::mutex mutex;
  std::condition_variable changed;  // notified of every change below

  // All under the mutex.
  SessionState state;
  std::optional<int> rank;  // where the member has joined
  v1::Limits limits;        // as announced by the latest session
  bool left = false;        // the member has left: nothing that happens to the job matters
  bool stopping = false;    // the connection is being destroyed
  SteadyTime detached_since = SteadyClock::now();  // where there is no session
  std::string last_error;                          // of the transport
};

// "rank 3 of job 'x'", or "job 'x'" before it has joined. Under the mutex.
std::string Describe(const ConnectionOptions& options, const SharedSession& shared);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_SHARED_SESSION_H_
