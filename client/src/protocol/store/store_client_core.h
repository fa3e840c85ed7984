#ifndef MUSTER_CLIENT_SRC_PROTOCOL_STORE_STORE_CLIENT_CORE_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_STORE_STORE_CLIENT_CORE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "client/src/base/deadline.h"
#include "client/src/base/steady_clock.h"
#include "client/src/protocol/store/client_list.h"
#include "client/src/protocol/store/held_entries.h"
#include "client/src/protocol/store/messages/store_client_options.h"
#include "client/src/protocol/store/messages/store_effects.h"
#include "client/src/protocol/store/store_operations.h"
#include "client/src/protocol/store/store_stream.h"
#include "client/src/protocol/store/store_watches.h"
#include "muster/v1/store.pb.h"

namespace muster::internal {

// Every decision of one client of the job's store, as a state machine: docs/store.md. Operations of
// the program, messages of the daemon and the time go in; effects come out (store_effects.h):
//
//   StoreEffects effects = core.Begin(now, id, operation, deadline);  // OpenStoreStream, ...
//   ... carry out effects.outputs in order ...
//   effects = core.OnMessage(now, attempt, message);  // a StoreCompletion of `id`, ...
//
// The first operation or watch opens a stream. The core reopens it after failures, with a claim of
// what it holds, and repeats what is unanswered.
//
// The core has no I/O, threads, clock or logging, and must not include gRPC. Not thread-safe: the
// caller serializes the steps. `now` must not go back. Tests: tests/client/protocol/store.
class StoreClientCore {
 public:
  explicit StoreClientCore(StoreClientOptions options);
  StoreClientCore(const StoreClientCore&) = delete;
  StoreClientCore& operator=(const StoreClientCore&) = delete;

  // ---- Calls of the program ----
  // Begins an operation, which ends with exactly one StoreCompletion, in this step or a later one.
  // Its errors are the daemon's, and
  //   ABORTED            this client counts as lost;
  //   CANCELLED          by Cancel();
  //   DEADLINE_EXCEEDED  the time-out has passed, and the daemon could not be asked what was
  //                      missing; the operation has no effect;
  //   UNAVAILABLE        the coordinator could not be reached for coordinator_timeout; a change may
  //                      or may not have taken effect;
  //   any other one      of Stop().
  // Ids ascend, also those of watches.
  StoreEffects Begin(SteadyTime now, StoreCallId id, v1::StoreOperation operation,
                     const Deadline& deadline);
  // Begins a watch, which ends with exactly one StoreCompletion, an error. Until then, its events
  // are StoreEffects::events: first the existing keys, then each change once.
  StoreEffects Watch(SteadyTime now, StoreCallId id, std::string prefix);
  // Gives up an operation, or ends a watch. Ignores unknown ids.
  StoreEffects Cancel(SteadyTime now, StoreCallId id);
  // Ends every operation and watch, now and later, with this error, and leaves the store.
  StoreEffects Stop(SteadyTime now, const absl::Status& why);

  // ---- Events of the stream ----
  // Events of an older stream change nothing (K2).
  StoreEffects OnMessage(SteadyTime now, uint64_t attempt, v1::StoreResponse message);
  StoreEffects OnStreamEnd(SteadyTime now, uint64_t attempt, const absl::Status& status);

  // Does what is due. Call it at NextDeadline(); other times do no harm.
  StoreEffects Tick(SteadyTime now);
  // Returns when Tick() has something to do next, or SteadyTime::max().
  SteadyTime NextDeadline() const;

  // Returns whether the client has opened a stream.
  bool has_stream() const { return stream_.attempt() > 0; }
  // Returns what this client holds, for tests.
  const HeldEntries& held() const { return held_; }

 private:
  void OpenStream(SteadyTime now);
  v1::StoreOpen NewOpen() const;
  // Applies a message. Returns why it cannot be applied, or an empty string.
  std::string Take(SteadyTime now, v1::StoreResponse* message);
  std::string TakeHold(v1::StoreHold* hold);
  void TakeAnswer(v1::StoreAnswer* answer);
  void TakeFetch(const v1::StoreFetch& fetch);
  // Confirms the messages of the stream, unless nobody waits for that yet.
  void Confirm();
  // Ends a step: sends what is due. Returns all effects of the step.
  StoreEffects Settle(SteadyTime now);

  // In order of construction: each refers only to members above it.
  const StoreClientOptions options_;
  StoreOutbox outbox_;
  StoreStream stream_;
  ClientList clients_;
  HeldEntries held_;
  StoreOperations operations_;
  StoreWatches watches_;

  StoreCallId next_id_ = 1;
  uint64_t processed_ = 0;  // the number of messages of the latest stream
  uint64_t confirmed_ = 0;  // the number of them that were confirmed
  // Of the messages that are not confirmed: whether the daemon waits for one's confirmation, and
  // the bytes of their values.
  bool confirm_is_due_ = false;
  uint64_t unconfirmed_bytes_ = 0;
  bool was_served_ = false;  // StoreOpen.was_served
  absl::Status stopped_;     // CANCELLED after Stop()
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_STORE_STORE_CLIENT_CORE_H_
