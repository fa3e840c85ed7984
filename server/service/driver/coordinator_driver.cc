#include "server/service/driver/coordinator_driver.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::service {

using core::Effects;
using core::Time;
using core::WaiterId;

namespace {

// The precondition of a step that always runs.
bool Always(Time) { return true; }

}  // namespace

CoordinatorDriver::CoordinatorDriver(core::Options options, std::shared_ptr<spdlog::logger> logger,
                                     std::function<void()> on_outcome,
                                     std::optional<journal::RecorderOptions> journal)
    : on_outcome_(std::move(on_outcome)),
      log_(logger),
      recorded_(journal.has_value()),
      core_(WithHooks(std::move(options))),
      journal_(recorded_ ? std::make_unique<journal::Recorder>(*std::move(journal), core_.options(),
                                                               clock_.Now(), std::move(logger))
                         : nullptr),
      diagnoser_(core_.options()),
      timer_([this] { RunTimer(); }) {}

CoordinatorDriver::~CoordinatorDriver() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    timer_wakes_.notify_one();
  }
  timer_.join();
}

WaiterId CoordinatorDriver::Enter() {
  std::lock_guard<std::mutex> lock(entered_mutex_);
  ++entered_;
  return next_id_++;
}

void CoordinatorDriver::Exit() {
  std::lock_guard<std::mutex> lock(entered_mutex_);
  if (--entered_ == 0) all_exited_.notify_all();
}

void CoordinatorDriver::AwaitAllExited(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock<std::mutex> lock(entered_mutex_);
  all_exited_.wait_until(lock, deadline, [this] { return entered_ == 0; });
}

void CoordinatorDriver::Run(const journal::StepInput& step, Responder* call) {
  RunStep(step, [&](Time) { return calls_.emplace(step.id, call).second; });
}

void CoordinatorDriver::RunDiagnosis(WaiterId id, Responder* call, DiagnosisStep step) {
  RunDiagnosisStep([&](Time now) {
    calls_.emplace(id, call);
    return step(diagnoser_, now);
  });
}

void CoordinatorDriver::Cancel(WaiterId id) {
  Responder* call = nullptr;
  RunStep({id, core::CallCancelled()}, [&](Time now) {
    auto entry = calls_.extract(id);
    if (entry.empty()) return false;
    call = entry.mapped();
    return !diagnoser_.Cancel(now, id);  // the core does not know the diagnoser's calls
  });
  if (call != nullptr) call->End(absl::CancelledError("the caller gave up"), {});
}

void CoordinatorDriver::Attach(const journal::StepInput& step,
                               std::shared_ptr<EventStream> stream) {
  RunStep(step, [&](Time) { return streams_.emplace(step.id, std::move(stream)).second; });
}

void CoordinatorDriver::CloseStream(WaiterId id, const absl::Status& end) {
  std::shared_ptr<EventStream> stream;
  std::shared_ptr<StoreStream> store_stream;
  RunStep({id, core::StreamClosed()}, [&](Time) {
    if (auto entry = streams_.extract(id); !entry.empty()) {
      stream = std::move(entry.mapped());
      stream->Push({nullptr, end});
    } else if (auto store_entry = store_streams_.extract(id); !store_entry.empty()) {
      store_stream = std::move(store_entry.mapped());
      store_stream->PushEnd(end);
    }
    return stream != nullptr || store_stream != nullptr;
  });
  if (stream != nullptr) stream->Flush();
  if (store_stream != nullptr) store_stream->Flush();
}

absl::Status CoordinatorDriver::OpenCallStream(WaiterId id, std::shared_ptr<CallStream> stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!drain_reason_.empty()) return absl::UnavailableError(drain_reason_);
  call_streams_.emplace(id, std::move(stream));
  return absl::OkStatus();
}

void CoordinatorDriver::ForgetCallStream(WaiterId id) {
  std::shared_ptr<CallStream> forgotten;  // destroyed without the lock
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto entry = call_streams_.extract(id); !entry.empty()) forgotten = std::move(entry.mapped());
}

absl::Status CoordinatorDriver::OpenStore(WaiterId id, std::shared_ptr<StoreStream> stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!drain_reason_.empty()) return absl::UnavailableError(drain_reason_);
  store_streams_.emplace(id, std::move(stream));
  return absl::OkStatus();
}

void CoordinatorDriver::ReceiveFromStore(const journal::StepInput& step) {
  RunStep(step, [&](Time) { return store_streams_.contains(step.id); });
}

// The core ends the streams that it knows. A stream without an open is not among them.
void CoordinatorDriver::LeaveStore(WaiterId id) {
  RunStep({id, core::StoreLeft()}, [&](Time) { return store_streams_.contains(id); });
  CloseStream(id, absl::OkStatus());
}

void CoordinatorDriver::Drain(const std::string& reason) {
  std::vector<WaiterId> store_streams;
  std::vector<std::shared_ptr<CallStream>> call_streams;
  RunStep({0, core::DrainBegun{reason}}, [&](Time) {
    drain_reason_ = reason;
    for (const auto& [id, stream] : call_streams_) call_streams.push_back(stream);
    for (const auto& [id, stream] : store_streams_) store_streams.push_back(id);
    return true;
  });
  for (const auto& stream : call_streams) stream->EndAfterCall(absl::UnavailableError(reason));
  for (const WaiterId id : store_streams) CloseStream(id, absl::UnavailableError(reason));
  RunDiagnosisStep([&](Time) { return diagnoser_.Drain(reason); });
}

absl::StatusOr<CoordinatorDriver::Snapshot> CoordinatorDriver::GetStatus(
    absl::string_view job_id, const SnapshotParts& parts) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = core_.CheckJob(job_id); !status.ok()) return status;
  const Time now = clock_.Now();
  Snapshot snapshot{core_.GetStatus(now, parts.completed_leases), now, clock_.Elapsed(), {}};
  if (parts.timeline) snapshot.timeline = core_.GetTimeline();
  diagnoser_.AddTo(now, &snapshot.job);
  return snapshot;
}

absl::StatusOr<CoordinatorDriver::Snapshot> CoordinatorDriver::GetBriefStatus(
    absl::string_view job_id, const std::vector<core::Incarnation>& members) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = core_.CheckJob(job_id); !status.ok()) return status;
  const Time now = clock_.Now();
  return Snapshot{core_.GetBriefStatus(now, members), now, clock_.Elapsed(), {}};
}

core::Metrics CoordinatorDriver::Measure() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return core_.Measure(clock_.Now());
}

std::optional<absl::Status> CoordinatorDriver::Outcome() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return core_.Outcome();
}

bool CoordinatorDriver::Quiet() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return core_.Quiet();
}

void CoordinatorDriver::RunStep(const journal::StepInput& step,
                                absl::FunctionRef<bool(Time)> before) noexcept {
  Deliveries deliveries;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const Time now = clock_.Now();
    if (!before(now)) return;
    Effects effects = core_.Step(now, step.id, step.input);
    if (recorded_) Record(step, now, &effects);
    AddDiagnosisEffects(now, &effects);
    deliveries = Collect(std::move(effects), now);
    WakeTimerIfEarlier();
  }
  Deliver(deliveries);
}

void CoordinatorDriver::RunDiagnosisStep(absl::FunctionRef<Effects(Time)> step) noexcept {
  Deliveries deliveries;
  std::optional<std::string> verdict;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const Time now = clock_.Now();
    Effects effects = step(now);
    verdict = std::move(effects.verdict);
    deliveries = Collect(std::move(effects), now);
    WakeTimerIfEarlier();
  }
  // The verdict enters the core as an input, so that the log, the timeline and the journal have it.
  if (verdict) RunStep({0, core::VerdictFound{*verdict}}, Always);
  Deliver(deliveries);
}

// Starts an inquiry if the step asks for one, and adds the diagnoser's replies and log lines to the
// step's.
void CoordinatorDriver::AddDiagnosisEffects(Time now, Effects* effects) {
  if (!effects->inquiry) return;
  Effects diagnoser = diagnoser_.Begin(now, *effects->inquiry);
  std::move(diagnoser.replies.begin(), diagnoser.replies.end(),
            std::back_inserter(effects->replies));
  std::move(diagnoser.log.begin(), diagnoser.log.end(), std::back_inserter(effects->log));
}

// Connects the core to the hang diagnoser, and keeps the random numbers that it draws. A replay
// must draw the same numbers.
core::Options CoordinatorDriver::WithHooks(core::Options options) {
  options.wants_inquiry = [this](Time now, core::JobState state) {
    return diagnoser_.MayBegin(now, state);
  };
  if (!recorded_) return options;
  options.random = [this, random = std::move(options.random)] {
    draws_.push_back(random());
    return draws_.back();
  };
  return options;
}

void CoordinatorDriver::Record(const journal::StepInput& step, Time now, Effects* effects) {
  const std::string stop_reason = journal_->Add(step, now, draws_, *effects);
  draws_.clear();
  if (!stop_reason.empty()) {
    effects->log.push_back(
        {core::Severity::kWarning, absl::StrCat("the journal stops here: ", stop_reason)});
  }
  if (!journal_->wants_checkpoint()) return;
  std::optional<core::Checkpoint> checkpoint = core_.MakeCheckpoint();
  if (checkpoint) journal_->Add(*std::move(checkpoint), core_.options(), now);
}

CoordinatorDriver::Deliveries CoordinatorDriver::Collect(Effects effects, Time now) {
  Deliveries out;
  CollectReplies(std::move(effects.replies), &out);
  CollectStore(&effects, &out);
  CollectStreams(&effects, now, &out);
  out.has_logged = !effects.log.empty();
  log_.Push(std::move(effects.log));
  out.outcome_known = core_.Outcome().has_value();
  return out;
}

// Takes the answered calls out of the map. A call that is no longer there was cancelled, and
// Cancel() ends it.
void CoordinatorDriver::CollectReplies(std::vector<core::Reply> replies, Deliveries* out) {
  out->replies.reserve(replies.size());
  for (core::Reply& reply : replies) {
    auto entry = calls_.extract(reply.waiter);
    if (!entry.empty()) out->replies.emplace_back(entry.mapped(), std::move(reply));
  }
}

void CoordinatorDriver::CollectStreams(Effects* effects, Time now, Deliveries* out) {
  absl::flat_hash_map<const core::Event*, std::shared_ptr<StreamedEvent>> streamed;
  for (const core::StreamEvent& event : effects->events) {
    auto entry = streams_.find(event.stream);
    if (entry == streams_.end()) continue;
    std::shared_ptr<StreamedEvent>& shared = streamed[event.event.get()];
    if (shared == nullptr) shared = std::make_shared<StreamedEvent>(now, event.event);
    entry->second->Push({shared, {}});
    (event.urgent ? out->urgent : out->streams).push_back(entry->second);
  }
  for (core::StreamEnd& end : effects->ends) {
    if (auto entry = streams_.extract(end.stream); !entry.empty()) {
      entry.mapped()->Push({nullptr, std::move(end.status)});
      out->streams.push_back(std::move(entry.mapped()));
    } else if (auto store_entry = store_streams_.extract(end.stream); !store_entry.empty()) {
      store_entry.mapped()->PushEnd(std::move(end.status));
      out->store_streams[end.stream] = std::move(store_entry.mapped());
    }
  }
}

void CoordinatorDriver::CollectStore(Effects* effects, Deliveries* out) {
  for (core::StoreMessage& message : effects->store) {
    const auto entry = store_streams_.find(message.stream);
    if (entry == store_streams_.end()) continue;
    entry->second->Push(std::move(message.message));
    out->store_streams[message.stream] = entry->second;
  }
}

// Carries out the effects of a step. Urgent events go first: their members have no call that the
// step ends, so they learn of the change from the event alone.
void CoordinatorDriver::Deliver(const Deliveries& deliveries) {
  for (const auto& stream : deliveries.urgent) stream->Flush();
  for (const auto& [call, reply] : deliveries.replies) call->End(reply.status, reply.answer);
  for (const auto& stream : deliveries.streams) stream->Flush();
  for (const auto& [id, stream] : deliveries.store_streams) stream->Flush();
  if (deliveries.has_logged) log_.Flush();
  if (deliveries.outcome_known && on_outcome_) on_outcome_();
}

void CoordinatorDriver::RunTimer() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    timer_due_ = NextDeadline();
    if (timer_due_ > clock_.Now()) {
      WaitUntil(lock, timer_due_);
      continue;
    }
    const bool core_is_due = core_.NextDeadline() <= timer_due_;
    lock.unlock();
    if (core_is_due) {
      RunStep({0, core::DeadlineReached()}, Always);
    } else {
      RunDiagnosisStep([this](Time now) { return diagnoser_.Tick(now); });
    }
    lock.lock();
  }
}

Time CoordinatorDriver::NextDeadline() const {
  return std::min(core_.NextDeadline(), diagnoser_.NextDeadline());
}

void CoordinatorDriver::WaitUntil(std::unique_lock<std::mutex>& lock, Time due) {
  if (due == absl::InfiniteFuture()) {
    timer_wakes_.wait(lock);
  } else {
    timer_wakes_.wait_until(lock, clock_.ToSteady(due));
  }
}

// Wakes the timer's thread if the next deadline has moved earlier. If it has moved later, the
// thread finds nothing due and waits again. So a run of barriers, whose deadlines only grow, costs
// no wake-ups.
void CoordinatorDriver::WakeTimerIfEarlier() {
  const Time due = NextDeadline();
  if (due >= timer_due_) return;
  timer_due_ = due;
  timer_wakes_.notify_one();
}

}  // namespace muster::service
