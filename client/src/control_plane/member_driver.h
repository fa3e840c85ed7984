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
#include "client/src/control_plane/node_meetings.h"
#include "client/src/control_plane/one_time_event.h"
#include "client/src/control_plane/polling_turns.h"
#include "client/src/control_plane/transport.h"
#include "client/src/protocol/member_core.h"
#include "muster/call_options.h"

namespace muster::internal {

// Runs one MemberCore over a transport: serializes its steps, gives it the time, carries its
// effects to the network, and lets threads of the program wait for their calls. Decides nothing.
// Thread-safe.
//
// A thread of the program that waits for its call polls the transport meanwhile (PollingTurns):
// handing its answer over from one thread to another would cost as much as all the rest of a call.
// A thread whose arrival goes by way of its node waits there, and polls only if it is the one that
// sends for all. Of the two threads of this object one stands in for the program's, and the other
// keeps the time and runs listeners, which may take long.
//
// The transport is called without a lock, by those whose steps have asked for something, one at a
// time, never from its own callbacks.
class MemberDriver {
 public:
  // Begins to attach. RESOURCE_EXHAUSTED if the process gets no threads for it; then nothing has
  // been sent. `times` are for tests.
  //
  // The last owner's release closes the driver. It may happen on any thread, in a listener too.
  static absl::StatusOr<std::shared_ptr<MemberDriver>> Start(MemberOptions options,
                                                             std::unique_ptr<Transport> transport,
                                                             const MeetingTimes& times = {});
  MemberDriver(const MemberDriver&) = delete;
  MemberDriver& operator=(const MemberDriver&) = delete;

  // Ends every call, the stream and every epoch, for good. Listeners hear of it.
  void Close();
  // Nobody asks for this epoch any more, which is not the latest.
  void Forget(const EpochId& epoch);

  // Begins a call of the member under this id, and blocks until it has ended.
  using BeginCall = absl::FunctionRef<Effects(MemberCore&, SteadyTime now, CallId)>;
  absl::StatusOr<Response> Call(Cancellation* cancellation, BeginCall begin);

  // Runs a step that nobody waits for.
  using Step = absl::FunctionRef<Effects(MemberCore&, SteadyTime now)>;
  void Run(Step step);

  absl::Status HealthOf(const EpochId& epoch) const;
  absl::Status AwaitFailure(const EpochId& epoch, absl::Duration timeout) const;
  // The same until the loss of a member that is gone by now would be known: see
  // MemberCore::LossKnownBy().
  absl::Status AwaitLoss(const EpochId& epoch, absl::Duration timeout,
                         Cancellation* cancellation) const;
  bool StopRequested(const EpochId& epoch) const;
  int NewcomersWaiting(const EpochId& epoch) const;
  v1::Limits limits() const;
  // The IP address of this side; empty before the member is registered.
  std::string local_address() const;

  // The callback runs once: on the thread of this object, or at once in this one.
  Subscription OnFailure(const EpochId& epoch, OneTimeEvent<absl::Status>::Callback callback);
  Subscription OnNewcomers(const EpochId& epoch, OneTimeEvent<>::Callback callback);

 private:
  using Lock = PollingTurns::Lock;
  // A thread of the program that waits for the end of its call.
  struct Waiter : PollingTurns::Waiter {
    std::shared_ptr<NodeMeetings::Place> meeting;  // that has begun, and is this thread's to run
    std::optional<absl::StatusOr<Response>> reply;
  };
  // Those who wait for news of one epoch.
  struct Listeners {
    std::shared_ptr<OneTimeEvent<absl::Status>> failure =
        std::make_shared<OneTimeEvent<absl::Status>>();
    bool failure_told = false;
    std::shared_ptr<OneTimeEvent<>> newcomers = std::make_shared<OneTimeEvent<>>();
    bool newcomers_told = false;
  };

  MemberDriver(MemberOptions options, std::unique_ptr<Transport> transport,
               const MeetingTimes& times);
  ~MemberDriver();
  static void Delete(MemberDriver* driver);
  absl::Status StartThreads();
  // Makes the threads end.
  void Stop();

  // Takes what a step has asked for. Under the lock.
  void Apply(Effects effects);
  void Complete(Completion completion);
  // Runs a step within Transport::Poll(); who polls drains.
  void RunInPoll(Step step);
  void Cancel(CallId id);

  // Blocks until the call has ended.
  void AwaitReply(Lock* lock, Waiter* waiter);
  // The thread has something to do, whatever it waits in.
  void Notify(Waiter* waiter);
  void RunMeeting(Lock* lock, Waiter* waiter);
  std::optional<Delivery> SendForNode(uint64_t attempt, const std::vector<TakenPart>& parts);
  void StandIn();

  // Does what the steps have asked for, unless another thread is at it.
  void Drain(Lock* lock);
  void Do(SendCall send);
  void Do(OpenStream open);
  void Do(const CancelSend& cancel);
  void Do(const EnterNode& enter);
  void Do(const MeetAtNode& meet);
  void Do(const LeaveMeeting& leave);
  void Do(const PassNode& pass);
  void Do(const LeaveNodeGroup& leave);
  // Logs what the meetings have to say, when the lock is released.
  void QueueNodeNews();
  void Do(const WriteLog& log);

  void RunThread();
  void WakeThread();
  void TellListeners(Lock* lock);
  void TellListeners(Lock* lock, const EpochId& epoch);

  std::unique_ptr<Transport> transport_;

  mutable std::mutex mutex_;  // guards all below
  MemberCore member_;
  CallId next_call_ = 1;
  std::map<CallId, Waiter*> waiters_;
  NodeMeetings node_;
  std::deque<Output> outbox_;
  bool draining_ = false;
  std::map<EpochId, Listeners> listeners_;
  mutable std::condition_variable news_;
  bool stopping_ = false;
  bool thread_must_look_ = false;
  SteadyTime armed_ = SteadyTime::max();  // when the thread wakes
  std::condition_variable thread_wakes_;

  mutable PollingTurns turns_;

  bool unowned_ = false;  // released by a listener; of `thread_` alone, which then deletes this
  std::thread thread_;    // these last: they use all the others
  std::thread stand_in_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_MEMBER_DRIVER_H_
