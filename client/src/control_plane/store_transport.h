#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_STORE_TRANSPORT_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_STORE_TRANSPORT_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "client/src/base/steady_clock.h"
#include "muster/v1/store.pb.h"

namespace muster::internal {

// The connection of one client of the job's store to the coordinator.
//
//   transport->Open(1, handler);
//   transport->Send(1, request);
//   while (!done) transport->Poll(until);  // runs the callbacks
//
// Has no threads: callbacks run inside Poll() and the destructor. Attempts identify streams, and
// are never reused. Thread-safe, but only one thread at a time may be in Poll(). Implementations:
// grpc_store_transport.h, and tests/client/control_plane/fake_store_transport.h.
class StoreTransport {
 public:
  // Cancels all streams, and returns after every callback has run.
  virtual ~StoreTransport() = default;

  // Any number of `on_response`, then exactly one `on_end`.
  struct Handler {
    std::function<void(v1::StoreResponse response)> on_response;
    std::function<void(const absl::Status& status)> on_end;
  };
  virtual void Open(uint64_t attempt, Handler handler) = 0;

  // Sends a message after all earlier ones of the stream. A confirmation may replace the
  // confirmation before it. No effect if the stream has ended. Does not block.
  virtual void Send(uint64_t attempt, v1::StoreRequest request) = 0;
  // Ends this side of the stream after all earlier messages.
  virtual void FinishSending(uint64_t attempt) = 0;
  // Ends the stream soon, with CANCELLED. No effect if it has ended. Does not block.
  virtual void Cancel(uint64_t attempt) = 0;

  // Blocks until something has happened, and runs its callbacks; or returns at `until`, or soon
  // after Wake().
  virtual void Poll(SteadyTime until) = 0;
  // Runs the callbacks of what has happened. Does not block.
  virtual void PollNow() = 0;
  // Makes the current Poll(), or else the next one, return soon.
  virtual void Wake() = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_STORE_TRANSPORT_H_
