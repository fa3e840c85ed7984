#include "server/service/driver/driver.h"

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

Driver::Driver(core::Options options, std::shared_ptr<spdlog::logger> logger,
               std::function<void()> on_outcome, std::optional<journal::RecorderOptions> journal)
    : on_outcome_(std::move(on_outcome)),
      log_(logger),
      recorded_(journal.has_value()),
      core_(Equip(std::move(options))),
      journal_(recorded_ ? std::make_unique<journal::Recorder>(*std::move(journal), core_.options(),
                                                               clock_.Now(), std::move(logger))
                         : nullptr),
      desk_(core_.options()),
      timer_([this] { RunTimer(); }) {}

Driver::~Driver() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    timer_wakes_.notify_one();
  }
  timer_.join();
}

WaiterId Driver::Enter() {
  std::lock_guard<std::mutex> lock(entered_mutex_);
  ++entered_;
  return next_id_++;
}

void Driver::Exit() {
  std::lock_guard<std::mutex> lock(entered_mutex_);
  if (--entered_ == 0) all_gone_.notify_all();
}

void Driver::AwaitAllGone(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock<std::mutex> lock(entered_mutex_);
  all_gone_.wait_until(lock, deadline, [this] { return entered_ == 0; });
}

void Driver::Run(const journal::StepInput& step, Call* call) {
  RunStep(step, [&](Time) { return calls_.emplace(step.id, call).second; });
}

void Driver::RunAtDesk(WaiterId id, Call* call, DeskStep step) {
  RunBeside([&](Time now) {
    calls_.emplace(id, call);
    return step(desk_, now);
  });
}

void Driver::Cancel(WaiterId id) {
  Call* call = nullptr;
  RunStep({id, core::CallCancelled()}, [&](Time now) {
    auto entry = calls_.extract(id);
    if (entry.empty()) return false;
    call = entry.mapped();
    return !desk_.Cancel(now, id);  // the core does not know the desk's calls
  });
  if (call != nullptr) call->End(absl::CancelledError("the caller gave up"), {});
}

void Driver::Attach(const journal::StepInput& step, std::shared_ptr<EventStream> stream) {
  RunStep(step, [&](Time) { return streams_.emplace(step.id, std::move(stream)).second; });
}

void Driver::CloseStream(WaiterId id, const absl::Status& end) {
  std::shared_ptr<EventStream> stream;
  RunStep({id, core::StreamClosed()}, [&](Time) {
    auto entry = streams_.extract(id);
    if (entry.empty()) return false;
    stream = std::move(entry.mapped());
    stream->Push({nullptr, end});
    return true;
  });
  if (stream != nullptr) stream->Flush();
}

void Driver::Drain(const std::string& reason) {
  RunStep({0, core::DrainBegun{reason}}, Always);
  RunBeside([&](Time) { return desk_.Drain(reason); });
}

absl::StatusOr<Driver::Snapshot> Driver::GetStatus(absl::string_view job_id,
                                                   const Extent& extent) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = core_.CheckJob(job_id); !status.ok()) return status;
  const Time now = clock_.Now();
  Snapshot snapshot{core_.GetStatus(now, extent.completed_leases), now, clock_.Elapsed(), {}};
  if (extent.timeline) snapshot.timeline = core_.GetTimeline();
  desk_.AddTo(now, &snapshot.job);
  return snapshot;
}

absl::StatusOr<Driver::Snapshot> Driver::GetBriefStatus(
    absl::string_view job_id, const std::vector<core::Incarnation>& members) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = core_.CheckJob(job_id); !status.ok()) return status;
  const Time now = clock_.Now();
  return Snapshot{core_.GetBriefStatus(now, members), now, clock_.Elapsed(), {}};
}

core::Metrics Driver::Measure() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return core_.Measure(clock_.Now());
}

std::optional<absl::Status> Driver::Outcome() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return core_.Outcome();
}

bool Driver::Quiet() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return core_.Quiet();
}

void Driver::RunStep(const journal::StepInput& step,
                     absl::FunctionRef<bool(Time)> before) noexcept {
  Deliveries deliveries;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const Time now = clock_.Now();
    if (!before(now)) return;
    Effects effects = core_.Step(now, step.id, step.input);
    if (recorded_) Record(step, now, &effects);
    AddDeskEffects(now, &effects);
    deliveries = Collect(std::move(effects), now);
    WakeTimerIfEarlier();
  }
  Deliver(deliveries);
}

void Driver::RunBeside(absl::FunctionRef<Effects(Time)> step) noexcept {
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

// Starts an inquiry if the step asks for one, and adds the desk's replies and log lines to the
// step's.
void Driver::AddDeskEffects(Time now, Effects* effects) {
  if (!effects->inquiry) return;
  Effects desk = desk_.Begin(now, *effects->inquiry);
  std::move(desk.replies.begin(), desk.replies.end(), std::back_inserter(effects->replies));
  std::move(desk.log.begin(), desk.log.end(), std::back_inserter(effects->log));
}

// Connects the core to the inquiry desk, and keeps the random numbers that it draws. A replay must
// draw the same numbers.
core::Options Driver::Equip(core::Options options) {
  options.wants_inquiry = [this](Time now, core::JobState state) {
    return desk_.MayBegin(now, state);
  };
  if (!recorded_) return options;
  options.random = [this, random = std::move(options.random)] {
    draws_.push_back(random());
    return draws_.back();
  };
  return options;
}

void Driver::Record(const journal::StepInput& step, Time now, Effects* effects) {
  const std::string news = journal_->Add(step, now, draws_, *effects);
  draws_.clear();
  if (!news.empty()) {
    effects->log.push_back(
        {core::Severity::kWarning, absl::StrCat("the journal stops here: ", news)});
  }
  if (!journal_->wants_checkpoint()) return;
  std::optional<core::Checkpoint> checkpoint = core_.MakeCheckpoint();
  if (checkpoint) journal_->Add(*std::move(checkpoint), core_.options(), now);
}

Driver::Deliveries Driver::Collect(Effects effects, Time now) {
  Deliveries out;
  CollectReplies(std::move(effects.replies), &out);
  CollectStreams(&effects, now, &out);
  out.has_logged = !effects.log.empty();
  log_.Push(std::move(effects.log));
  out.outcome_known = core_.Outcome().has_value();
  return out;
}

// Takes the answered calls out of the map. A call that is no longer there was cancelled, and
// Cancel() ends it.
void Driver::CollectReplies(std::vector<core::Reply> replies, Deliveries* out) {
  out->replies.reserve(replies.size());
  for (core::Reply& reply : replies) {
    auto entry = calls_.extract(reply.waiter);
    if (!entry.empty()) out->replies.emplace_back(entry.mapped(), std::move(reply));
  }
}

void Driver::CollectStreams(Effects* effects, Time now, Deliveries* out) {
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
    auto entry = streams_.extract(end.stream);
    if (entry.empty()) continue;
    entry.mapped()->Push({nullptr, std::move(end.status)});
    out->streams.push_back(std::move(entry.mapped()));
  }
}

// Carries out the effects of a step. Urgent events go first: their members have no call that the
// step ends, so they learn of the change from the event alone.
void Driver::Deliver(const Deliveries& deliveries) {
  for (const auto& stream : deliveries.urgent) stream->Flush();
  for (const auto& [call, reply] : deliveries.replies) call->End(reply.status, reply.answer);
  for (const auto& stream : deliveries.streams) stream->Flush();
  if (deliveries.has_logged) log_.Flush();
  if (deliveries.outcome_known && on_outcome_) on_outcome_();
}

void Driver::RunTimer() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    armed_ = NextDeadline();
    if (armed_ > clock_.Now()) {
      WaitUntil(lock, armed_);
      continue;
    }
    const bool core_is_due = core_.NextDeadline() <= armed_;
    lock.unlock();
    if (core_is_due) {
      RunStep({0, core::DeadlineReached()}, Always);
    } else {
      RunBeside([this](Time now) { return desk_.Tick(now); });
    }
    lock.lock();
  }
}

Time Driver::NextDeadline() const { return std::min(core_.NextDeadline(), desk_.NextDeadline()); }

void Driver::WaitUntil(std::unique_lock<std::mutex>& lock, Time due) {
  if (due == absl::InfiniteFuture()) {
    timer_wakes_.wait(lock);
  } else {
    timer_wakes_.wait_until(lock, clock_.ToSteady(due));
  }
}

// Wakes the timer's thread if the next deadline has moved earlier. If it has moved later, the
// thread finds nothing due and waits again. So a run of barriers, whose deadlines only grow, costs
// no wake-ups.
void Driver::WakeTimerIfEarlier() {
  const Time due = NextDeadline();
  if (due >= armed_) return;
  armed_ = due;
  timer_wakes_.notify_one();
}

}  // namespace muster::service
