#ifndef MUSTER_CLIENT_SRC_PROTOCOL_STORE_STORE_STREAM_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_STORE_STORE_STREAM_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "client/src/base/backoff.h"
#include "client/src/base/steady_clock.h"
#include "client/src/protocol/store/messages/store_client_options.h"
#include "client/src/protocol/store/messages/store_effects.h"
#include "muster/v1/store.pb.h"

namespace muster::internal {

// The client's stream to the daemon: opens it, reopens it after failures, and drops what belongs to
// older streams (K2). Pure: no I/O, no threads, no clock.
class StoreStream {
 public:
  StoreStream(const StoreClientOptions& options, StoreOutbox* outbox);
  StoreStream(const StoreStream&) = delete;
  StoreStream& operator=(const StoreStream&) = delete;

  // Opens the next stream. Messages of an older one no longer count.
  void Open(SteadyTime now);
  // Sends a message on the latest stream.
  void Send(v1::StoreRequest message);
  // Notes that the daemon has accepted the latest stream.
  void TakeOpened(SteadyTime now, const v1::StoreOpened& opened);
  // Notes that the daemon has answered something on the latest stream.
  void NoteProgress() { progressed_ = true; }
  // Applies the end of a stream. Returns false, and does nothing, if it is not the latest. If
  // reopening is pointless, sets final_status().
  bool TakeEnd(SteadyTime now, uint64_t attempt, const absl::Status& status);
  // Cancels the latest stream, whose messages no longer count, and opens another one soon.
  void Restart(SteadyTime now, const std::string& why);
  // Ends the latest stream, if there is one, and opens no other one.
  void Leave();

  // Returns whether messages of this stream count.
  bool IsLatest(uint64_t attempt) const { return attempt == attempt_ && in_progress_; }
  // Returns whether the daemon has accepted the latest stream, which goes on.
  bool is_open() const { return in_progress_ && opened_; }
  // Returns the number of the latest stream; 0 before the first.
  uint64_t attempt() const { return attempt_; }
  // Returns whether a stream must be opened now. The first one is not opened before it is needed.
  bool MustReopen(SteadyTime now) const { return reopen_at_ && now >= *reopen_at_; }
  // Returns when MustReopen() becomes true, or SteadyTime::max().
  SteadyTime NextDeadline() const { return reopen_at_.value_or(SteadyTime::max()); }

  // Returns since when there is no open stream. Streams that end at once, without an answer, do not
  // count: a message that the daemon cannot take must not be repeated for ever. Valid only while
  // there is none, after the first Open().
  SteadyTime detached_since() const { return detached_since_; }
  // Returns what the daemon said of its limits when it last accepted a stream.
  const v1::StoreOpened& limits() const { return limits_; }
  // Returns OK, or why this client will never have another stream.
  const absl::Status& final_status() const { return final_status_; }
  // Returns "could not reach the coordinator at host:7370 for 10m (last error: ...)".
  std::string NotReachedSince(SteadyTime since, SteadyTime now) const;

 private:
  // Notes that the latest stream has ended, and opens another one soon.
  void ReopenSoon(SteadyTime now);
  void Warn(const std::string& text);

  const StoreClientOptions& options_;
  StoreOutbox& outbox_;

  uint64_t attempt_ = 0;
  bool in_progress_ = false;  // the latest stream has not ended
  bool opened_ = false;       // the daemon has accepted the latest stream
  bool progressed_ = false;   // it has answered something on it
  SteadyTime opened_at_;
  v1::StoreOpened limits_;
  std::optional<SteadyTime> reopen_at_;
  Backoff backoff_;
  SteadyTime detached_since_;
  absl::Status final_status_;
  std::string last_error_;
  bool trouble_logged_ = false;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_STORE_STORE_STREAM_H_
