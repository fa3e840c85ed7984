#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_TRANSPORT_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "client/src/protocol/messages/member_requests.h"

namespace muster::internal {

// The connection to a coordinator.
//
//   transport->Attach(1, request, handler);
//   while (!done) transport->Poll();  // runs the callbacks
//
// Has no threads: callbacks run inside Poll(), PollNow() and the destructor. Attempts identify
// calls and streams, and are never reused. Thread-safe, but only one thread at a time may be in
// Poll() or PollNow(). Implementations: grpc_transport.h, and
// tests/client/control_plane/fake_transport.h.
class Transport {
 public:
  // Cancels everything in flight, and returns after every callback has run.
  virtual ~Transport() = default;

  // Ends with exactly one `done`, without a time-out. The response counts if the status is OK. Ends
  // with UNAVAILABLE at once if there is no connection.
  using Done = std::function<void(const absl::Status& status, Response response)>;
  virtual void Call(uint64_t attempt, Request request, Done done) = 0;

  // Any number of `on_response`, then exactly one `on_end`.
  struct StreamHandler {
    std::function<void(const v1::AttachResponse&)> on_response;
    std::function<void(const absl::Status&)> on_end;
  };
  virtual void Attach(uint64_t attempt, v1::AttachRequest request, StreamHandler handler) = 0;

  // Ends the call or stream of this attempt soon, with CANCELLED. No effect if it has ended. Does
  // not block.
  virtual void Cancel(uint64_t attempt) = 0;

  // Blocks until something has happened, runs its callbacks, and returns. A thread must be in here,
  // or call PollNow() often, all the time: keepalive depends on it.
  virtual void Poll() = 0;
  // Runs the callbacks of what has happened. Does not block.
  virtual void PollNow() = 0;
  // Makes the current Poll(), or else the next one, return soon.
  virtual void Wake() = 0;

  // Returns whether there is a connection now.
  virtual bool connected() const = 0;

  // Returns the IP address of the coordinator that answered the latest Attach, or an empty string
  // before.
  virtual std::string peer() const = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_TRANSPORT_H_
