#include "server/service/driver.h"

#include <utility>

namespace muster::service {

using core::Effects;
using core::Time;
using core::WaiterId;

Driver::Driver(core::Options options, std::shared_ptr<spdlog::logger> logger,
               std::function<void()> on_outcome)
    : on_outcome_(std::move(on_outcome)),
      log_(std::move(logger)),
      core_(std::move(options)),
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

void Driver::Run(WaiterId id, Call* call, Step step) {
  RunStep([&](Time now) {
    calls_.emplace(id, call);
    return step(core_, now);
  });
}

void Driver::Cancel(WaiterId id) {
  Call* call = nullptr;
  RunStep([&](Time now) {
    auto entry = calls_.extract(id);
    if (entry.empty()) return Effects();
    call = entry.mapped();
    return core_.Cancel(now, id);
  });
  if (call != nullptr) call->End(absl::CancelledError("the caller gave up"), {});
}

void Driver::Attach(WaiterId id, std::shared_ptr<EventStream> stream,
                    const core::AttachRequest& request) {
  RunStep([&](Time now) {
    streams_.emplace(id, std::move(stream));
    return core_.Attach(now, id, request);
  });
}

void Driver::CloseStream(WaiterId id, const absl::Status& end) {
  std::shared_ptr<EventStream> stream;
  RunStep([&](Time now) {
    auto entry = streams_.extract(id);
    if (entry.empty()) return Effects();
    stream = std::move(entry.mapped());
    stream->Push({nullptr, end});
    return core_.StreamClosed(now, id);
  });
  if (stream != nullptr) stream->Flush();
}

void Driver::Drain(const std::string& reason) {
  RunStep([&](Time now) { return core_.Drain(now, reason); });
}

absl::StatusOr<Driver::Snapshot> Driver::GetStatus(absl::string_view job_id) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = core_.CheckJob(job_id); !status.ok()) return status;
  const Time now = clock_.Now();
  return Snapshot{core_.GetStatus(now), now, clock_.Elapsed()};
}

std::optional<absl::Status> Driver::Outcome() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return core_.Outcome();
}

bool Driver::Quiet() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return core_.Quiet();
}

void Driver::RunStep(absl::FunctionRef<Effects(Time)> step) noexcept {
  Deliveries deliveries;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const Time now = clock_.Now();
    deliveries = Collect(step(now), now);
    WakeTimerIfEarlier();
  }
  Deliver(deliveries);
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
    armed_ = core_.NextDeadline();
    if (armed_ > clock_.Now()) {
      WaitUntil(lock, armed_);
      continue;
    }
    lock.unlock();
    RunStep([this](Time now) { return core_.Tick(now); });
    lock.lock();
  }
}

void Driver::WaitUntil(std::unique_lock<std::mutex>& lock, Time due) {
  if (due == absl::InfiniteFuture()) {
    timer_wakes_.wait(lock);
  } else {
    timer_wakes_.wait_until(lock, clock_.ToSteady(due));
  }
}

// A deadline that has moved later wakes nobody: the timer finds nothing due and waits again. So a
// run of barriers, whose deadlines only grow, costs no wake-ups.
void Driver::WakeTimerIfEarlier() {
  const Time due = core_.NextDeadline();
  if (due >= armed_) return;
  armed_ = due;
  timer_wakes_.notify_one();
}

}  // namespace muster::service
