#ifndef MUSTER_TESTS_CLIENT_FAKE_TRANSPORT_H_
#define MUSTER_TESTS_CLIENT_FAKE_TRANSPORT_H_

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

// A coordinator in memory that the test plays by hand: what the SDK sends is kept until the test
// answers it.
class FakeCoordinator {
 public:
  // The callbacks that a transport is to run, in order.
  class Events {
   public:
    void Add(std::function<void()> event);
    // The same, and waits until it has run.
    void AddAndWait(std::function<void()> event);
    // Waits for the next one, and runs it. One thread at a time may.
    void RunNext();
    // Runs those that are there, as the thread that polls.
    void RunReady();
    void RunAll();
    // Of the event that was run last.
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
    // Answers, and returns when the SDK has taken it; nothing happens if the call has ended.
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
    // What ends it with this answer; null if it has ended.
    std::function<void()> End(const absl::Status& status, Response response);
  };

  struct Stream {
    void Cancel();
    // Each of these returns when the SDK has taken it.
    void Send(const v1::AttachResponse& response);
    // Registers the member in the session with this number.
    // `standing` are the tokens of its leases that stand.
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

  // The SDK's way to this coordinator, which must outlive it.
  std::unique_ptr<Transport> NewTransport();

  // Waits for the next Attach, or call, in the order of their arrival.
  std::shared_ptr<Stream> NextStream();
  std::shared_ptr<Call> NextCall();
  // The same, of a type, with the request at hand.
  template <class R>
  std::shared_ptr<Call> Next(R* request) {
    std::shared_ptr<Call> call = NextCall();
    *request = std::get<R>(call->request);
    return call;
  }
  void WaitUntilCancelled(const Call& call);
  // Every later call is answered at once with this error.
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

#endif  // MUSTER_TESTS_CLIENT_FAKE_TRANSPORT_H_
