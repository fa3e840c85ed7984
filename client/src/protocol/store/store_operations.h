#ifndef MUSTER_CLIENT_SRC_PROTOCOL_STORE_STORE_OPERATIONS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_STORE_STORE_OPERATIONS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/src/base/deadline.h"
#include "client/src/base/steady_clock.h"
#include "client/src/protocol/store/messages/store_client_options.h"
#include "client/src/protocol/store/messages/store_effects.h"
#include "client/src/protocol/store/store_stream.h"
#include "muster/v1/store.pb.h"

namespace muster::internal {

// The operations of the program that have not ended. Sends each one on every stream until the
// daemon has answered it (K3), and ends it exactly once. Pure: no I/O, no threads, no clock.
//
// An operation that was never sent, and a read, may end here: by its time-out, or when the program
// cancels it. A change that was sent may have been applied, and only the daemon knows. So it ends
// with the daemon's answer (K16), or when the coordinator was away for coordinator_timeout.
class StoreOperations {
 public:
  StoreOperations(const StoreClientOptions& options, StoreStream* stream, StoreOutbox* outbox);
  StoreOperations(const StoreOperations&) = delete;
  StoreOperations& operator=(const StoreOperations&) = delete;

  // Begins an operation, which ends with one StoreCompletion. A wait_timeout that is set is the
  // daemon's on each stream, in place of what is left until the deadline.
  void Begin(StoreCallId id, v1::StoreOperation operation, const Deadline& deadline);
  // Gives up an operation for the program. Ignores unknown ids.
  void Cancel(StoreCallId id);
  // Applies an answer on the open stream. Ignores unknown operations.
  void TakeAnswer(v1::StoreAnswer answer);
  // Ends all operations with this error.
  void EndAll(const absl::Status& why);

  // Sends and ends what is due. Calls `before_send` with the id of each operation before it is
  // sent. Ids ascend.
  void Advance(SteadyTime now, absl::FunctionRef<void(StoreCallId)> before_send);
  // Returns when Advance() has something to do next, or SteadyTime::max().
  SteadyTime NextDeadline() const;

  // Adds the ids of the operations that the next stream will repeat.
  void AddUnanswered(v1::StoreOpen* open) const;
  // Returns the value that the operation carries; null if there is no such operation or value.
  const std::string* FindValue(StoreCallId id) const;
  // Returns whether it is an operation that changes nothing.
  bool IsRead(StoreCallId id) const;
  bool empty() const { return pending_.empty(); }

 private:
  struct Pending {
    v1::StoreOperation operation;
    Deadline deadline;
    uint64_t sent_on = 0;    // the latest stream that it was sent on; 0: never sent
    bool cancelled = false;  // by the program
    bool overdue = false;    // the daemon did not answer at the time-out
    uint64_t cancel_sent_on = 0;

    bool is_given_up() const { return cancelled || overdue; }
    // Whether it may end without the daemon.
    bool may_end_here() const { return sent_on == 0 || !MayChange(operation); }
  };

  void AdvanceOnStream(SteadyTime now, StoreCallId id, Pending* pending,
                       absl::FunctionRef<void(StoreCallId)> before_send);
  void AdvanceDetached(SteadyTime now, StoreCallId id, const Pending& pending);
  void Send(SteadyTime now, Pending* pending);
  SteadyTime DeadlineOf(const Pending& pending) const;
  void End(StoreCallId id, absl::StatusOr<v1::StoreAnswer> answer);

  // Returns the error of an operation that the daemon's limits do not allow, or OK. The stream
  // would end with it, again and again.
  absl::Status CheckLimits(const Pending& pending) const;
  // Return the errors of operations that end without a result.
  std::string Describe(const Pending& pending) const;
  absl::Status GivenUp(const Pending& pending) const;
  absl::Status Unreachable(SteadyTime now, const Pending& pending) const;

  const StoreClientOptions& options_;
  StoreStream& stream_;
  StoreOutbox& outbox_;

  std::map<StoreCallId, Pending> pending_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_STORE_STORE_OPERATIONS_H_
