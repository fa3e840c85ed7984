#ifndef MUSTER_TESTS_CLIENT_CONTROL_PLANE_FAKE_TRANSPORT_H_
#define MUSTER_TESTS_CLIENT_CONTROL_PLANE_FAKE_TRANSPORT_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/src/control_plane/transport.h"

namespace muster::internal {

// A coordinator in memory that the test plays by hand. It keeps what the SDK sends until the test
// answers.
class FakeCoordinator {
 public:
  // The callbacks that the transport must run, in order.
  class Events {
   public:
    void Add(std::function<void()> event);
    // Adds an event, and blocks until it has run.
    void AddAndWait(std::function<void()> event);
    // Waits for the next event, and runs it. Only one thread at a time may call this.
    void RunNext();
    // Runs the events that are there, as the polling thread does.
    void RunReady();
    void RunAll();
    // Returns the thread that ran the last event.
    std::thread::id thread() const;

   private:
    void RunFront(std::unique_lock<std::mutex>* lock);

    mutable std::mutex mutex_;
    std::condition_variable added_;
    std::deque<std::function<void()>> events_;
    bool in_use_ = false;
    std::thread::id thread_;
  };

  struct Call {
    void Cancel();
    // Answers the call, and returns when the SDK has taken the answer. Does nothing if the call has
    // ended.
    void Reply(const absl::Status& status, Response response = {});

    uint64_t attempt = 0;
    Request request;
    Transport::Done done;
    std::shared_ptr<Events> events;
    FakeCoordinator* owner = nullptr;
    bool ended = false;
    bool cancelled = false;

   private:
    friend class FakeTransport;
    // Returns the callback that ends the call with this answer, or null if it has ended.
    std::function<void()> End(const absl::Status& status, Response response);
  };

  struct Stream {
    void Cancel();
    // Each of these returns when the SDK has taken the event.
    void Send(const v1::AttachResponse& response);
    // Registers the member in the session with this number. `standing` are the tokens of the leases
    // that it still holds.
    void Accept(uint64_t session, const std::vector<uint64_t>& standing = {},
                bool node_collectives = false);
    void Break(const v1::EpochId& epoch, const std::string& reason, bool may_rejoin = false);
    void End(const absl::Status& status);

    uint64_t attempt = 0;
    v1::AttachRequest request;
    Transport::StreamHandler handler;
    std::shared_ptr<Events> events;
    FakeCoordinator* owner = nullptr;
    bool ended = false;

   private:
    std::function<void()> Ending(const absl::Status& status);
  };

  // Returns the SDK's transport to this coordinator, which must outlive it.
  std::unique_ptr<Transport> NewTransport();

  // Waits for the next Attach, or the next call, in the order of arrival.
  std::shared_ptr<Stream> NextStream();
  std::shared_ptr<Call> NextCall();
  // Returns null if no call has come.
  std::shared_ptr<Call> TryNextCall();
  // Waits for the next call, which must carry a request of type R, and returns that request with
  // it.
  template <class R>
  std::shared_ptr<Call> Next(R* request) {
    std::shared_ptr<Call> call = NextCall();
    *request = std::get<R>(call->request);
    return call;
  }
  void WaitUntilCancelled(const Call& call);
  // Answers every later call at once with this error.
  void AnswerAll(const absl::Status& status);

 private:
  friend class FakeTransport;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::vector<std::shared_ptr<Call>> calls_;
  size_t streams_taken_ = 0;
  size_t calls_taken_ = 0;
  absl::Status answer_to_all_;
};

}  // namespace muster::internal

#endif  // MUSTER_TESTS_CLIENT_CONTROL_PLANE_FAKE_TRANSPORT_H_
