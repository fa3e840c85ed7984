#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_STORE_DRIVER_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_STORE_DRIVER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/src/control_plane/log_writer.h"
#include "client/src/control_plane/polling_turns.h"
#include "client/src/control_plane/store_plane.h"
#include "client/src/control_plane/store_transport.h"
#include "client/src/control_plane/watch_notifier.h"
#include "client/src/protocol/store/store_client_core.h"

namespace muster::internal {

// The driver of one StoreClientCore over a transport. It serializes the core's steps, passes it the
// time, carries out its effects, and lets threads of the program wait for their operations. It
// decides nothing. Thread-safe.
//
// A thread of the program that waits for its operation polls the transport meanwhile
// (PollingTurns). The stand-in, a thread that only polls, does so while no thread of the program
// waits: for operations that were begun, for watches, and because this process holds entries for
// others, whose operations wait for its confirmations. So its pauses are short. Another thread runs
// the callbacks of watches, from the first watch on. A third one writes the log. Test:
// tests/client/control_plane/store_driver_test.cc, with a fake transport.
class StoreDriver final : public StorePlane, public std::enable_shared_from_this<StoreDriver> {
 public:
  // Starts the stand-in. Returns RESOURCE_EXHAUSTED, with nothing sent, if the process cannot get
  // threads. The first operation or watch opens a stream.
  static absl::StatusOr<std::shared_ptr<StoreDriver>> Start(
      StoreClientOptions options, std::unique_ptr<StoreTransport> transport);
  // Leaves the store: waits for at most a second until the coordinator knows.
  ~StoreDriver() override;
  StoreDriver(const StoreDriver&) = delete;
  StoreDriver& operator=(const StoreDriver&) = delete;

  absl::StatusOr<v1::StoreAnswer> Call(v1::StoreOperation operation,
                                       const CallOptions& options) override;
  // Begins an operation, and returns its id at once. Calls `done` once, under the driver's lock: it
  // must not block, nor call the driver. The stand-in polls for the answer, without pauses if no
  // thread uses Call(). Only the operation's own wait_timeout limits its wait, and not the time
  // while the coordinator is away. Errors: as StoreClientCore::Begin().
  using Done = std::function<void(absl::StatusOr<v1::StoreAnswer> answer)>;
  StoreCallId Begin(v1::StoreOperation operation, Done done);
  // Gives up an operation that was begun. Ignores others.
  void Cancel(StoreCallId id);

  // Calls `lost` for each other client that is lost or has left, with its incarnation. Call it
  // before the first operation. `lost` is called under the driver's lock: it must not block, nor
  // call the driver. Unset: no more calls.
  void OnClientLost(std::function<void(const std::string& incarnation)> lost);

  absl::StatusOr<Subscription> Watch(const std::string& prefix, WatchCallback callback) override;
  void Close(const absl::Status& why) override;

 private:
  using Lock = PollingTurns::Lock;
  // A thread of the program that waits for the end of its operation.
  struct Waiter : PollingTurns::Waiter {
    std::optional<absl::StatusOr<v1::StoreAnswer>> answer;
  };

  StoreDriver(StoreClientOptions options, std::unique_ptr<StoreTransport> transport,
              std::unique_ptr<LogWriter> log);

  using Step = absl::FunctionRef<StoreEffects(StoreClientCore&, SteadyTime now)>;
  // Runs a step, and carries out its effects.
  void Run(Step step);
  // Runs a step inside StoreTransport::Poll(), whose caller then drains.
  void RunInPoll(Step step);
  void EndWatch(StoreCallId id);

  // Logs a step's lines, queues its other outputs, completes operations and queues events. Under
  // the lock.
  void Apply(StoreEffects effects);
  void Complete(StoreCompletion completion);
  // Carries out the queued outputs, unless another thread is already in Drain().
  void Drain(Lock* lock);
  void Do(const OpenStoreStream& open);
  void Do(SendToStore& send);
  void Do(const LeaveStoreStream& leave);
  void Do(const CancelStoreStream& cancel);
  void Do(const WarnOfStore& line);

  // Polls once, at most until the next time-out. Without the lock.
  void Poll(PollingTurns::How how);
  // Notes that a poll begins, and returns when it must end.
  SteadyTime BeginPoll();
  // Notes that the poll has ended, and does what is due.
  void EndPoll(Lock* lock);
  // Runs the stand-in until no stream is left, or it has waited for long enough.
  void StandIn();

  std::unique_ptr<StoreTransport> transport_;
  const std::unique_ptr<LogWriter> log_;

  std::mutex mutex_;  // guards all fields below
  StoreClientCore core_;
  StoreCallId next_id_ = 1;
  std::map<StoreCallId, Waiter*> waiters_;
  std::map<StoreCallId, Done> begun_;
  std::function<void(const std::string& incarnation)> on_lost_;
  std::unique_ptr<WatchNotifier> notifier_;  // null before the first watch
  std::deque<StoreOutput> outbox_;
  bool draining_ = false;
  int streams_ = 0;                             // that have not ended
  bool is_polling_ = false;                     // a thread is in StoreTransport::Poll()
  SteadyTime polls_until_ = SteadyTime::max();  // when that thread looks at the time again
  bool stopping_ = false;
  SteadyTime leaves_by_;
  PollingTurns turns_;

  std::thread stand_in_;  // last, because it uses all other fields
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_STORE_DRIVER_H_
