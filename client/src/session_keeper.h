#ifndef MUSTER_CLIENT_SRC_SESSION_KEEPER_H_
#define MUSTER_CLIENT_SRC_SESSION_KEEPER_H_

#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/status/status.h"
#include "client/src/failure_listeners.h"
#include "client/src/shared_session.h"
#include "client/src/transport.h"

namespace muster::internal {

// A thread that holds one member's Attach stream, attaches again when it breaks, and tells the
// listeners when the job does.
class SessionKeeper {
 public:
  // `options` and `shared` must outlive this object, and this object the transport's callbacks:
  // destroy the transport between Join() and this object.
  SessionKeeper(const ConnectionOptions* options, Transport* transport, SharedSession* shared,
                std::shared_ptr<FailureListeners> listeners);

  // Closes the stream and ends the thread; `shared->stopping` must be set.
  void Join() { thread_.join(); }

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Stream {
    uint64_t attach = 0;
    bool answered = false;
    std::optional<absl::Status> end;
  };

  void Run();
  std::shared_ptr<InFlight> Open(const std::shared_ptr<Stream>& stream);
  v1::AttachRequest NewRequest(uint64_t attach) const;

  // Callbacks of a stream.
  void OnResponse(Stream* stream, const v1::AttachResponse& response);
  void OnAttached(Stream* stream, const v1::Attached& attached);
  void OnEnd(Stream* stream, const absl::Status& status);

  // After a stream's end: whether another one is worth a try.
  bool MayTryAgain(const Stream& stream);
  void LogEnd(const Stream& stream);

  // Waits until `ready`, the time, or the end of this object; tells the listeners in between.
  template <class Ready>
  void WaitUntil(Lock* lock, std::optional<SteadyTime> until, Ready ready);
  void TellListeners(Lock* lock);

  const ConnectionOptions* const options_;
  Transport* const transport_;
  SharedSession* const shared_;
  const std::shared_ptr<FailureListeners> listeners_;
  bool listeners_told_ = false;
  bool trouble_logged_ = false;
  std::thread thread_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_SESSION_KEEPER_H_
