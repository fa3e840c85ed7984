#ifndef MUSTER_SERVER_SERVICE_DRIVER_COORDINATOR_DRIVER_H_
#define MUSTER_SERVER_SERVICE_DRIVER_COORDINATOR_DRIVER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/coordinator.h"
#include "server/core/diagnosis/hang_diagnoser.h"
#include "server/journal/recorder/recorder.h"
#include "server/service/driver/core_clock.h"
#include "server/service/driver/log_queue.h"
#include "server/service/driver/streamed_event.h"

namespace muster::service {

// A parked call, as the driver sees it.
class Responder {
 public:
  virtual ~Responder() = default;
  // Ends the call with this status and answer. Called exactly once, without locks held. The object
  // may be destroyed before the function returns.
  virtual void End(const absl::Status& status, const core::Answer& answer) = 0;
};

// An event, or the end of the stream.
struct StreamItem {
  std::shared_ptr<StreamedEvent> event;  // null at the end of the stream
  absl::Status end;
};

// An Attach stream, as the driver sees it.
class EventStream {
 public:
  virtual ~EventStream() = default;
  // Queues an event, or the status that ends the stream. Nothing follows the end. Called under the
  // driver's lock, so that items are queued in the order of the core's steps. Must only queue, and
  // never do I/O.
  virtual void Push(StreamItem item) = 0;
  // Starts to send the queued items. Called without locks held.
  virtual void Flush() = 0;
};

// A stream of a client of the store, as the driver sees it.
class StoreStream {
 public:
  virtual ~StoreStream() = default;
  // Queues a message, or the status that ends the stream. Nothing follows the end. Called under the
  // driver's lock; see EventStream::Push().
  virtual void Push(core::StoreResponse message) = 0;
  virtual void PushEnd(absl::Status end) = 0;
  // Starts to send the queued messages. Called without locks held.
  virtual void Flush() = 0;
};

// A stream that carries calls, as the driver sees it.
class CallStream {
 public:
  virtual ~CallStream() = default;
  // Ends the stream with this status, after the call that it carries now. Called without locks
  // held.
  virtual void EndAfterCall(const absl::Status& end) = 0;
};

// The driver of one coordinator core: it serializes the core's steps, tells it the time, and
// delivers its effects to calls and streams. Thread-safe. No method blocks unless it says so.
//
// The entry of a call in the driver's map is the right, and the duty, to end that call. The thread
// that erases the entry under the lock ends the call after it has released the lock. So every call
// ends exactly once, even in a race:
//   Thread A: a step completes a collective, and takes the call out of the map.
//   Thread B: the peer cancels the call; Cancel() finds no entry and does nothing.
// Streams follow the same rule. Calls, streams, the log and the callback are called without the
// lock held; only EventStream::Push() runs under it.
class CoordinatorDriver {
 public:
  // Starts the timer's thread. `on_outcome` is called, from any thread, after each step that leaves
  // the job's outcome known. If `journal` is set, every input of the core is recorded there.
  CoordinatorDriver(core::Options options, std::shared_ptr<spdlog::logger> logger,
                    std::function<void()> on_outcome,
                    std::optional<journal::RecorderOptions> journal = std::nullopt);
  // Requires that every call and stream has ended.
  ~CoordinatorDriver();

  // Returns an id for a new call or stream. Call Exit() when nothing refers to the call any more.
  core::WaiterId Enter();
  void Exit();
  // Blocks until every Enter() has had its Exit(), or until the deadline.
  void AwaitAllExited(std::chrono::steady_clock::time_point deadline);

  // Runs the step of a request. The step parks `call` or ends it.
  void Run(const journal::StepInput& step, Responder* call);
  // A step of the hang diagnoser, which runs under the lock.
  using DiagnosisStep = absl::FunctionRef<core::Effects(core::HangDiagnoser&, core::Time)>;
  // Runs a step of the hang diagnoser, which parks `call` or ends it. The journal does not
  // record such steps.
  void RunDiagnosis(core::WaiterId id, Responder* call, DiagnosisStep step);
  const core::Coordinator& core() const { return core_; }  // for use in a DiagnosisStep
  // Withdraws a call that the peer has given up, and ends it with CANCELLED. Does nothing if the
  // call has ended.
  void Cancel(core::WaiterId id);

  // Runs the step of an Attach. Its stream stays open until CloseStream() or a later step ends it.
  void Attach(const journal::StepInput& step, std::shared_ptr<EventStream> stream);
  // Ends the stream of a member or of the store with this status, because the peer is gone or does
  // not read. Does nothing if the stream has ended.
  void CloseStream(core::WaiterId id, const absl::Status& end);

  // Adds a stream that carries calls, until ForgetCallStream(). Returns UNAVAILABLE, and adds
  // nothing, if the daemon drains.
  absl::Status OpenCallStream(core::WaiterId id, std::shared_ptr<CallStream> stream);
  void ForgetCallStream(core::WaiterId id);

  // Adds a stream of the store, which stays open until CloseStream(), LeaveStore() or a step ends
  // it. Returns UNAVAILABLE, and adds nothing, if the daemon drains.
  absl::Status OpenStore(core::WaiterId id, std::shared_ptr<StoreStream> stream);
  // Runs the step of a message from a client of the store. Does nothing if the stream has ended.
  void ReceiveFromStore(const journal::StepInput& step);
  // Ends the stream of a client that has ended its side of it.
  void LeaveStore(core::WaiterId id);

  // Ends all parked calls and streams with UNAVAILABLE and this reason; see core::DrainBegun.
  void Drain(const std::string& reason);

  // The state of the job at one moment.
  struct Snapshot {
    core::JobStatus job;
    core::Time now;
    absl::Duration uptime;
    std::vector<core::TimelineEntry> timeline;  // if SnapshotParts::timeline
  };
  // The optional parts of a snapshot.
  struct SnapshotParts {
    bool timeline = false;
    bool completed_leases = false;
  };
  // Returns the job's status. Returns NOT_FOUND if `job_id` is neither empty nor this job's.
  absl::StatusOr<Snapshot> GetStatus(absl::string_view job_id, const SnapshotParts& parts) const;
  // Returns the status of the job and of these members only; see Coordinator::GetBriefStatus.
  absl::StatusOr<Snapshot> GetBriefStatus(absl::string_view job_id,
                                          const std::vector<core::Incarnation>& members) const;
  core::Metrics Measure() const;
  std::optional<absl::Status> Outcome() const;
  bool Quiet() const;

  const core::Options& options() const { return core_.options(); }
  // Returns the journal's fingerprint function for payloads; null without a journal.
  const journal::PayloadHasher* payload_hasher() const {
    return journal_ == nullptr ? nullptr : &journal_->hasher();
  }

 private:
  // The effects of one step that are carried out after the lock is released.
  struct Deliveries {
    std::vector<std::shared_ptr<EventStream>> urgent;
    std::vector<std::pair<Responder*, core::Reply>> replies;
    std::vector<std::shared_ptr<EventStream>> streams;
    absl::flat_hash_map<core::WaiterId, std::shared_ptr<StoreStream>> store_streams;
    bool has_logged = false;
    bool outcome_known = false;
  };

  // Runs a step of the core; there is no other way in. `before` runs first, under the lock. If it
  // returns false, there is no step.
  //
  // noexcept: an exception (no memory left, or a defect) would leave a step half done, so it ends
  // the process. Members reconnect to a restarted daemon.
  void RunStep(const journal::StepInput& step, absl::FunctionRef<bool(core::Time)> before) noexcept;
  // Runs a step of the hang diagnoser, which does not change the core.
  void RunDiagnosisStep(absl::FunctionRef<core::Effects(core::Time)> step) noexcept;
  core::Time NextDeadline() const;
  void AddDiagnosisEffects(core::Time now, core::Effects* effects);
  core::Options WithHooks(core::Options options);
  void Record(const journal::StepInput& step, core::Time now, core::Effects* effects);
  Deliveries Collect(core::Effects effects, core::Time now);
  void CollectReplies(std::vector<core::Reply> replies, Deliveries* out);
  void CollectStreams(core::Effects* effects, core::Time now, Deliveries* out);
  void CollectStore(core::Effects* effects, Deliveries* out);
  void Deliver(const Deliveries& deliveries);

  void RunTimer();
  void WaitUntil(std::unique_lock<std::mutex>& lock, core::Time due);
  void WakeTimerIfEarlier();

  const CoreClock clock_;
  const std::function<void()> on_outcome_;
  LogQueue log_;
  std::atomic<core::WaiterId> next_id_{1};

  mutable std::mutex mutex_;  // guards the members below
  const bool recorded_;
  std::vector<uint64_t> draws_;  // random numbers of the current step, if recorded
  core::Coordinator core_;       // its options() never change and need no lock
  const std::unique_ptr<journal::Recorder> journal_;  // null if nothing is recorded
  core::HangDiagnoser diagnoser_;
  absl::flat_hash_map<core::WaiterId, Responder*> calls_;
  absl::flat_hash_map<core::WaiterId, std::shared_ptr<EventStream>> streams_;
  absl::flat_hash_map<core::WaiterId, std::shared_ptr<StoreStream>> store_streams_;
  absl::flat_hash_map<core::WaiterId, std::shared_ptr<CallStream>> call_streams_;
  std::string drain_reason_;                       // not empty: the daemon drains
  core::Time timer_due_ = absl::InfiniteFuture();  // when the timer's thread wakes up
  bool stopping_ = false;
  std::condition_variable timer_wakes_;

  std::mutex entered_mutex_;  // guards the two below
  int64_t entered_ = 0;
  std::condition_variable all_exited_;

  std::thread timer_;  // last: it uses the members above
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_DRIVER_COORDINATOR_DRIVER_H_
