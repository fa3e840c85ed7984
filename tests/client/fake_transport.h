#ifndef MUSTER_TESTS_CLIENT_FAKE_TRANSPORT_H_
#define MUSTER_TESTS_CLIENT_FAKE_TRANSPORT_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/src/control_plane/transport.h"

namespace muster::internal {

// A coordinator in memory that the test plays by hand: what the SDK sends is kept until the test
// answers it.
class FakeCoordinator {
 public:
  struct Call : InFlight {
    void Cancel() override;
    // Answers; nothing happens if it has been answered or cancelled.
    void Reply(const absl::Status& status, Response response = {});

    Request request;
    absl::Duration timeout;
    Transport::Done done;
    FakeCoordinator* owner = nullptr;
    bool ended = false;
    bool cancelled = false;
  };

  struct Stream : InFlight {
    void Cancel() override;
    void Send(const v1::AttachResponse& response);
    // Registers the member in the session with this number.
    // `standing` are the tokens of its leases that stand.
    void Accept(uint64_t session, const std::vector<uint64_t>& standing = {});
    void Break(const v1::EpochId& epoch, const std::string& reason, bool may_rejoin = false);
    void End(const absl::Status& status);

    v1::AttachRequest request;
    Transport::StreamHandler handler;
    FakeCoordinator* owner = nullptr;
    bool ended = false;
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
