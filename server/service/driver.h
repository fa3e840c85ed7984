#ifndef MUSTER_SERVER_SERVICE_DRIVER_H_
#define MUSTER_SERVER_SERVICE_DRIVER_H_

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
#include "server/core/inquiry_desk.h"
#include "server/journal/recorder.h"
#include "server/service/clock.h"
#include "server/service/log_queue.h"
#include "server/service/streamed_event.h"

namespace muster::service {

// A parked call, as the driver sees it.
class Call {
 public:
  virtual ~Call() = default;
  // Ends the call; called exactly once, without locks held. The object may be gone at return.
  virtual void End(const absl::Status& status, const core::Answer& answer) = 0;
};

// An event, or the end of the stream.
struct StreamItem {
  std::shared_ptr<StreamedEvent> event;  // null: the end
  absl::Status end;
};

// An Attach stream, as the driver sees it.
class EventStream {
 public:
  virtual ~EventStream() = default;
  // Queues an event, or the status that ends the stream and after which nothing comes. Called under
  // the driver's lock, so that the order is that of the core's steps: must only queue.
  virtual void Push(StreamItem item) = 0;
  // Starts to send what is queued. Called without locks held.
  virtual void Flush() = 0;
};

// Runs one coordinator core: serializes its steps, gives it the time, and carries its effects to
// the calls and streams. The entry of a call or stream in the driver's maps is the right to end it:
// whoever erases it, under the lock, ends it. Thread-safe; no method blocks unless it says so, and
// calls, streams, log and callback are reached without the lock held.
class Driver {
 public:
  // `on_outcome` is called (from any thread) after each step that leaves the job's outcome known.
  // `journal`: where all that goes into the core is recorded.
  Driver(core::Options options, std::shared_ptr<spdlog::logger> logger,
         std::function<void()> on_outcome,
         std::optional<journal::RecorderOptions> journal = std::nullopt);
  // Every call and stream must have ended.
  ~Driver();

  // Names a new call or stream. It must be given back with Exit when nothing refers to it any more.
  core::WaiterId Enter();
  void Exit();
  // Blocks until all that entered have left, or until the deadline.
  void AwaitAllGone(std::chrono::steady_clock::time_point deadline);

  // Runs the step of a request, which parks or ends `call`.
  void Run(const journal::StepInput& step, Call* call);
  // The same at the desk that answers inquiries, of which no journal knows.
  using DeskStep = absl::FunctionRef<core::Effects(core::InquiryDesk&, core::Time)>;
  void RunAtDesk(core::WaiterId id, Call* call, DeskStep step);
  const core::Coordinator& core() const { return core_; }  // for such a step
  // The peer has given up the call: withdraws it and ends it with CANCELLED, unless it has ended.
  void Cancel(core::WaiterId id);

  // The same of an AttachRequest, whose stream stays open.
  void Attach(const journal::StepInput& step, std::shared_ptr<EventStream> stream);
  // The peer has gone, or does not read: ends the stream with this status, unless it has ended.
  void CloseStream(core::WaiterId id, const absl::Status& end);

  // See Coordinator::Drain.
  void Drain(const std::string& reason);

  struct Snapshot {
    core::JobStatus job;
    core::Time now;
    absl::Duration uptime;
    std::vector<core::TimelineEntry> timeline;  // where it is asked for
  };
  // What is wanted of it.
  struct Extent {
    bool timeline = false;
    bool completed_leases = false;
  };
  // NOT_FOUND if `job_id` is neither empty nor this job's.
  absl::StatusOr<Snapshot> GetStatus(absl::string_view job_id, const Extent& extent) const;
  // See Coordinator::GetBriefStatus.
  absl::StatusOr<Snapshot> GetBriefStatus(absl::string_view job_id,
                                          const std::vector<core::Incarnation>& members) const;
  core::Metrics Measure() const;
  std::optional<absl::Status> Outcome() const;
  bool Quiet() const;

  const core::Options& options() const { return core_.options(); }
  // What requests are to be kept with; null where there is no journal.
  const journal::Fingerprints* keeps() const {
    return journal_ == nullptr ? nullptr : &journal_->fingerprints();
  }

 private:
  // What one step asks to be done without the lock.
  struct Deliveries {
    std::vector<std::shared_ptr<EventStream>> urgent;
    std::vector<std::pair<Call*, core::Reply>> replies;
    std::vector<std::shared_ptr<EventStream>> streams;
    bool has_logged = false;
    bool outcome_known = false;
  };

  // The one way into the core. `before` runs under the lock; where it returns false there is no
  // step.
  // An exception in here (memory has run out, or a defect) ends the process: it would leave half of
  // a step done, and members find their way back to a daemon that starts again.
  void RunStep(const journal::StepInput& step, absl::FunctionRef<bool(core::Time)> before) noexcept;
  // The same beside the core, which `step` does not change.
  void RunBeside(absl::FunctionRef<core::Effects(core::Time)> step) noexcept;
  core::Time NextDeadline() const;
  void AddDeskEffects(core::Time now, core::Effects* effects);
  core::Options Equip(core::Options options);
  void Record(const journal::StepInput& step, core::Time now, core::Effects* effects);
  Deliveries Collect(core::Effects effects, core::Time now);
  void CollectReplies(std::vector<core::Reply> replies, Deliveries* out);
  void CollectStreams(core::Effects* effects, core::Time now, Deliveries* out);
  void Deliver(const Deliveries& deliveries);

  void RunTimer();
  void WaitUntil(std::unique_lock<std::mutex>& lock, core::Time due);
  void WakeTimerIfEarlier();

  const Clock clock_;
  const std::function<void()> on_outcome_;
  LogQueue log_;
  std::atomic<core::WaiterId> next_id_{1};

  mutable std::mutex mutex_;  // guards all below
  const bool recorded_;
  std::vector<uint64_t> draws_;                       // of the step under way, where it is recorded
  core::Coordinator core_;                            // but for options(), which never change
  const std::unique_ptr<journal::Recorder> journal_;  // null: there is none
  core::InquiryDesk desk_;
  absl::flat_hash_map<core::WaiterId, Call*> calls_;
  absl::flat_hash_map<core::WaiterId, std::shared_ptr<EventStream>> streams_;
  core::Time armed_ = absl::InfiniteFuture();  // when the timer thread wakes
  bool stopping_ = false;
  std::condition_variable timer_wakes_;

  std::mutex entered_mutex_;  // guards the two below
  int64_t entered_ = 0;
  std::condition_variable all_gone_;

  std::thread timer_;  // last: it uses all the others
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_DRIVER_H_
