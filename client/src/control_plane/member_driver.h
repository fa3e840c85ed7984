#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_MEMBER_DRIVER_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_MEMBER_DRIVER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/control_plane/fan_in_driver.h"
#include "client/src/control_plane/log_writer.h"
#include "client/src/control_plane/one_time_event.h"
#include "client/src/control_plane/polling_turns.h"
#include "client/src/control_plane/transport.h"
#include "client/src/protocol/member_core.h"
#include "muster/call_options.h"

namespace muster::internal {

// The driver of one MemberCore over a transport. It serializes the core's steps, passes it the
// time, carries out its effects, and lets threads of the program wait for their calls. It decides
// nothing. Thread-safe.
//
// A thread of the program that waits for its call polls the transport meanwhile (PollingTurns).
// Handing the answer over from another thread would cost as much as the rest of the call. A thread
// whose arrival uses node fan-in waits in shared memory instead, and polls only if it sends the
// batch. The driver has three threads of its own. One stands in for the program's and polls while
// none of them does. One keeps the time and runs listeners, which may take long. One writes the
// log, which may block for ever (LogWriter).
//
// Threads carry out effects without the lock, one thread at a time, and never inside the
// transport's callbacks. Tests: tests/client/remote_*_test.cc and node_driver_test.cc, with a fake
// transport.
class MemberDriver {
 public:
  // Starts the threads and begins to attach. Returns RESOURCE_EXHAUSTED, with nothing sent, if the
  // process cannot get threads. `times` are for tests.
  //
  // The driver closes when its last owner releases it. That may happen on any thread, including in
  // a listener.
  static absl::StatusOr<std::shared_ptr<MemberDriver>> Start(MemberOptions options,
                                                             std::unique_ptr<Transport> transport,
                                                             const FanInTimes& times = {});
  MemberDriver(const MemberDriver&) = delete;
  MemberDriver& operator=(const MemberDriver&) = delete;

  // Ends every call, the stream and every epoch, for good. Notifies listeners.
  void Close();
  // Forgets an epoch that has no users any more and is not the latest.
  void Forget(const EpochId& epoch);

  // Begins a call of the member under this id, and blocks until it has ended. An error follows the
  // log lines before it, unless the log is blocked (LogWriter::AwaitWritten()).
  using BeginCall = absl::FunctionRef<Effects(MemberCore&, SteadyTime now, CallId)>;
  absl::StatusOr<Response> CallAndWait(Cancellation* cancellation, BeginCall begin);

  // Runs a step whose result no thread waits for.
  using Step = absl::FunctionRef<Effects(MemberCore&, SteadyTime now)>;
  void Run(Step step);

  absl::Status HealthOf(const EpochId& epoch) const;
  // Blocks until the epoch is over, and returns why; or returns OK at the time-out. An error
  // follows the log lines before it, as above.
  absl::Status AwaitFailure(const EpochId& epoch, absl::Duration timeout) const;
  // Blocks like AwaitFailure(), but only until the loss of a member that has vanished by now would
  // be known: see MemberCore::LossKnownBy().
  absl::Status AwaitLoss(const EpochId& epoch, absl::Duration timeout,
                         Cancellation* cancellation) const;
  bool StopRequested(const EpochId& epoch) const;
  int NewcomersWaiting(const EpochId& epoch) const;
  v1::Limits limits() const;
  // Returns this side's IP address, or an empty string before the member is registered.
  std::string local_address() const;

  // Runs the callback once, on the driver's thread, or at once on this thread if it has happened
  // already.
  Subscription OnFailure(const EpochId& epoch, OneTimeEvent<absl::Status>::Callback callback);
  Subscription OnNewcomers(const EpochId& epoch, OneTimeEvent<>::Callback callback);

 private:
  using Lock = PollingTurns::Lock;
  // A thread of the program that waits for the end of its call.
  struct Waiter : PollingTurns::Waiter {
    // A round that has begun and that this thread must run.
    std::shared_ptr<FanInDriver::GroupRounds> round;
    std::optional<absl::StatusOr<Response>> reply;
  };
  // The listeners of one epoch, and whether they were notified.
  struct Listeners {
    std::shared_ptr<OneTimeEvent<absl::Status>> failure =
        std::make_shared<OneTimeEvent<absl::Status>>();
    bool failure_notified = false;
    std::shared_ptr<OneTimeEvent<>> newcomers = std::make_shared<OneTimeEvent<>>();
    bool newcomers_notified = false;
  };

  MemberDriver(MemberOptions options, std::unique_ptr<Transport> transport, const FanInTimes& times,
               std::unique_ptr<LogWriter> log);
  ~MemberDriver();
  static void Delete(MemberDriver* driver);
  absl::Status StartThreads();
  // Makes the threads end.
  void Stop();

  // Logs a step's lines, queues its other outputs, and completes its calls. Under the lock.
  void Apply(Effects effects);
  void Complete(Completion completion);
  // Runs a step inside Transport::Poll(), whose caller then drains.
  void RunInPoll(Step step);
  void Cancel(CallId id);

  // Does what CallAndWait() does, without regard for the log.
  absl::StatusOr<Response> Call(Cancellation* cancellation, BeginCall begin);
  // Blocks until the call has ended.
  void AwaitReply(Lock* lock, Waiter* waiter);
  // Wakes the thread, wherever it waits.
  void Notify(Waiter* waiter);
  void RunFanInRound(Lock* lock, Waiter* waiter);
  std::optional<Delivery> SendForNode(uint64_t attempt, const std::vector<TakenPart>& parts);
  void StandIn();

  // Carries out the queued outputs, unless another thread is already in Drain().
  void Drain(Lock* lock);
  void Do(SendCall send);
  void Do(OpenStream open);
  void Do(const CancelSend& cancel);
  void Do(const EnterNode& enter);
  void Do(const StartFanIn& start);
  void Do(const LeaveFanIn& leave);
  void Do(const SkipFanIn& skip);
  void Do(const RetireFanInGroup& leave);
  void Do(WriteLog line);
  void LogFanIn();
  // Returns `status`, which the program gets. An error waits for the log lines before it.
  absl::Status AfterLog(absl::Status status) const;

  void RunThread();
  void WakeThread();
  void NotifyListeners(Lock* lock);
  void NotifyListeners(Lock* lock, const EpochId& epoch);

  std::unique_ptr<Transport> transport_;
  const std::unique_ptr<LogWriter> log_;

  mutable std::mutex mutex_;  // guards all fields below
  MemberCore member_;
  CallId next_call_ = 1;
  std::map<CallId, Waiter*> waiters_;
  FanInDriver fan_in_;
  std::deque<Output> outbox_;
  bool draining_ = false;
  std::map<EpochId, Listeners> listeners_;
  mutable std::condition_variable state_changed_;
  bool stopping_ = false;
  bool thread_must_check_ = false;
  SteadyTime thread_wakes_at_ = SteadyTime::max();  // when the thread wakes up on its own
  std::condition_variable thread_wakes_;

  mutable PollingTurns turns_;

  // A listener released the last owner. Only `thread_` uses this, and then deletes the driver.
  bool unowned_ = false;
  std::thread thread_;  // last, because they use all other fields
  std::thread stand_in_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_MEMBER_DRIVER_H_
