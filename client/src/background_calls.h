#ifndef MUSTER_CLIENT_SRC_BACKGROUND_CALLS_H_
#define MUSTER_CLIENT_SRC_BACKGROUND_CALLS_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "client/src/connection.h"
#include "client/src/steady_clock.h"

namespace muster::internal {

// Makes calls that nobody waits for, one after another, on a thread of its own that starts with the
// first. Thread-safe.
class BackgroundCalls {
 public:
  // Each call keeps trying for `timeout`. `connection` must outlive this object.
  BackgroundCalls(Connection* connection, absl::Duration timeout)
      : connection_(connection), timeout_(timeout) {}
  // `connection` must have been stopped.
  ~BackgroundCalls();

  // `what` names the call in a log line, should it fail.
  void Post(std::string what, Request request);

  // Waits until all that was posted has ended, or the deadline.
  void Flush(SteadyTime deadline);

 private:
  struct Call {
    std::string what;
    Request request;
  };

  void Run();
  void Make(Call call);

  Connection* const connection_;
  const absl::Duration timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call> calls_;  // the first one is being made
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BACKGROUND_CALLS_H_
