#ifndef MUSTER_TESTS_CLIENT_CONTROL_PLANE_FAKE_STORE_TRANSPORT_H_
#define MUSTER_TESTS_CLIENT_CONTROL_PLANE_FAKE_STORE_TRANSPORT_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "client/src/control_plane/store_transport.h"

namespace muster::internal {

// A daemon in memory that the test plays by hand:
//
//   FakeStoreDaemon daemon;
//   auto driver = StoreDriver::Start(options, daemon.NewTransport());
//   daemon.AcceptNext();
//   v1::StoreRequest request = daemon.Next();
//   daemon.Say(response);
class FakeStoreDaemon {
 public:
  // Returns the client's transport to this daemon.
  std::unique_ptr<StoreTransport> NewTransport();

  // Waits for the next stream with its claim, and accepts it.
  void AcceptNext();
  // Waits for the client's next message on the latest stream, confirmations aside.
  v1::StoreRequest Next();
  // Sends a message on the latest stream.
  void Say(v1::StoreResponse response);
  // Waits until the client has confirmed all messages of the latest stream.
  void AwaitConfirmation();
  // Returns the thread that waits in Poll(), if there is one.
  std::thread::id poller();
  // Blocks until this thread waits in Poll().
  void AwaitPollOf(std::thread::id thread);
  // Returns the thread that took the latest message.
  std::thread::id receiver();
  // Ends the latest stream.
  void End(const absl::Status& status);
  // Does not end streams whose client has ended its side.
  void IgnoreLeaving();
  // Waits until the client has ended its side of the latest stream.
  void AwaitLeaving();

 private:
  friend class FakeStoreTransport;

  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> events;  // for Poll()
    bool woken = false;
    std::thread::id poller;    // the thread in Poll(), while it waits
    std::thread::id receiver;  // the thread that took the latest message
    uint64_t said = 0;         // messages on the latest stream
    uint64_t confirmed = 0;    // of these
    uint64_t attempt = 0;
    StoreTransport::Handler handler;  // of a stream that goes on
    bool left = false;
    bool ignores_leaving = false;
    std::deque<v1::StoreRequest> requests;  // of the latest stream
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace muster::internal

#endif  // MUSTER_TESTS_CLIENT_CONTROL_PLANE_FAKE_STORE_TRANSPORT_H_
