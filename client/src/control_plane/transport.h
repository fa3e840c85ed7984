#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_TRANSPORT_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "client/src/protocol/requests.h"

namespace muster::internal {

// The way to a coordinator. Has no threads: callbacks run within Poll() and PollNow(), and within
// the destructor. Calls and streams are named by their attempt, which is never used twice.
// Thread-safe, but for Poll() and PollNow(), in which there may be one thread at a time.
class Transport {
 public:
  // Ends what is in flight, and returns when every callback has.
  virtual ~Transport() = default;

  // Ends with exactly one `done`, however long that takes; the response counts where the status is
  // OK. UNAVAILABLE, at once, where there is no connection.
  using Done = std::function<void(const absl::Status& status, Response response)>;
  virtual void Call(uint64_t attempt, Request request, Done done) = 0;

  // Any number of `on_response`, then exactly one `on_end`.
  struct StreamHandler {
    std::function<void(const v1::AttachResponse&)> on_response;
    std::function<void(const absl::Status&)> on_end;
  };
  virtual void Attach(uint64_t attempt, v1::AttachRequest request, StreamHandler handler) = 0;

  // Ends what has begun under this attempt soon, with CANCELLED; no effect on what has ended. Does
  // not block.
  virtual void Cancel(uint64_t attempt) = 0;

  // Waits until something has happened, runs its callbacks, and returns. Somebody must be in here,
  // or look in by PollNow(), all the time: what keeps the connection alive is done here too.
  virtual void Poll() = 0;
  // The same, but does not wait: runs the callbacks of what has happened.
  virtual void PollNow() = 0;
  // Makes the Poll() in progress return soon, or else the next one.
  virtual void Wake() = 0;

  // Whether there is a connection now.
  virtual bool connected() const = 0;

  // The IP address of the coordinator that answered the latest Attach; empty before.
  virtual std::string peer() const = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_TRANSPORT_H_
