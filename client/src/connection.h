#ifndef MUSTER_CLIENT_SRC_CONNECTION_H_
#define MUSTER_CLIENT_SRC_CONNECTION_H_

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/failure_listeners.h"
#include "client/src/session_keeper.h"
#include "client/src/shared_session.h"
#include "client/src/transport.h"
#include "muster/call_options.h"

namespace muster::internal {

// How long a call waits, and what messages call it.
struct Patience {
  Patience(std::string name, absl::Duration how_long, Cancellation* cancel = nullptr)
      : what(std::move(name)),
        timeout(how_long),
        deadline(After(SteadyClock::now(), how_long)),
        cancellation(cancel) {}

  std::string what;  // "Barrier('epoch 1') op 12 of the world"
  absl::Duration timeout;
  SteadyTime deadline;
  Cancellation* cancellation;
};

// One member's line to its coordinator. Calls wait here for their replies; those that a broken
// connection swallows are sent again in the next session. Thread-safe.
class Connection {
 public:
  // Begins to attach.
  Connection(ConnectionOptions options, std::unique_ptr<Transport> transport);
  // Closes the stream and waits for nobody.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Blocks until the coordinator has registered this member. DEADLINE_EXCEEDED says in which phase
  // that ended; a refusal keeps its code.
  absl::Status AwaitRegistered(const Patience& patience);

  // The place that the member got.
  void Joined(const EpochId& epoch, int rank);

  // The member needs nothing more: closes the stream, whose end means nothing now, nor does a loss.
  void Left();

  // Sends `request`, its CallContext filled in, and blocks for the reply; `*sends` is how often it
  // was sent. Errors are the coordinator's, and
  //   ABORTED            the job broke; an ABORTED of the coordinator breaks it;
  //   CANCELLED          by patience.cancellation, or by Stop();
  //   DEADLINE_EXCEEDED  the time-out has passed, and the coordinator could not be asked what was
  //                      missing;
  //   UNAVAILABLE        the coordinator could not be reached for coordinator_timeout.
  absl::StatusOr<Response> Call(Request request, const Patience& patience, int* sends);

  // Ends every waiting and later call.
  void Stop();

  // As announced by the coordinator; valid once registered.
  v1::Limits limits() const;
  // The IP address of this side; empty before the member is registered.
  std::string local_address() const;

  // OK, or the error that every call ends with.
  absl::Status health() const;
  absl::Status AwaitFailure(absl::Duration timeout) const;
  Subscription OnFailure(std::function<void(const absl::Status&)> callback) const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Waiter;
  struct Attempt;

  // One send and its reply; nullopt where the reply cannot come or does not count.
  absl::StatusOr<std::optional<Response>> SendOnce(Request* request, Waiter* waiter);
  std::shared_ptr<Attempt> Send(Request* request, const Waiter& waiter);
  absl::Status AwaitReply(Attempt* attempt, const Waiter& waiter);
  void OnReply(Attempt* attempt, const absl::Status& status, Response response);
  absl::Status AwaitSession(const Waiter& waiter);
  absl::Status PauseBeforeRetry(Waiter* waiter);

  // Waits under the lock until `ready`. Else returns why the call must end, or `late()` at `until`.
  template <class Ready, class Late>
  absl::Status Await(Lock* lock, const Waiter& waiter, SteadyTime until, Ready ready,
                     Late late) const;
  absl::Status Interruption(const Waiter& waiter) const;
  // The error of a call that has waited too long for the coordinator itself.
  absl::Status Unreachable(const Waiter& waiter) const;
  absl::Status NotRegistered(const Patience& patience, absl::string_view error) const;

  const ConnectionOptions options_;
  const std::shared_ptr<FailureListeners> listeners_;
  mutable SharedSession shared_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<SessionKeeper> keeper_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONNECTION_H_
