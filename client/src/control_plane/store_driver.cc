#include "client/src/control_plane/store_driver.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "client/src/base/cancel_watch.h"
#include "client/src/base/deadline.h"
#include "common/process/start_thread.h"

namespace muster::internal {
namespace {

// Other clients' operations wait for this client's confirmations, so a program that computes
// between its calls gets the shortest pause.
constexpr PollingTurns::Pauses kPauses = {std::chrono::milliseconds(1),
                                          std::chrono::milliseconds(8)};

}  // namespace

absl::StatusOr<std::shared_ptr<StoreDriver>> StoreDriver::Start(
    StoreClientOptions options, std::unique_ptr<StoreTransport> transport) {
  absl::StatusOr<std::unique_ptr<LogWriter>> log = LogWriter::Start();
  if (!log.ok()) return log.status();
  std::shared_ptr<StoreDriver> driver(
      new StoreDriver(std::move(options), std::move(transport), *std::move(log)));
  absl::StatusOr<std::thread> stand_in =
      StartThread("talk to the job's store", [raw = driver.get()] { raw->StandIn(); });
  if (!stand_in.ok()) return stand_in.status();
  driver->stand_in_ = *std::move(stand_in);
  return driver;
}

StoreDriver::StoreDriver(StoreClientOptions options, std::unique_ptr<StoreTransport> transport,
                         std::unique_ptr<LogWriter> log)
    : transport_(std::move(transport)),
      log_(std::move(log)),
      core_(std::move(options)),
      turns_(
          kPauses, [this](PollingTurns::How how) { Poll(how); },
          [this](Lock* lock) { EndPoll(lock); }) {}

StoreDriver::~StoreDriver() {
  constexpr absl::Duration kPatience = absl::Seconds(1);
  Close(absl::CancelledError("the Job was destroyed"));
  {
    Lock lock(mutex_);
    stopping_ = true;
    leaves_by_ = After(SteadyClock::now(), kPatience);
    turns_.WakeStandIn();
  }
  transport_->Wake();
  if (stand_in_.joinable()) stand_in_.join();
  transport_.reset();  // ends its callbacks, which use all other fields
}

void StoreDriver::Close(const absl::Status& why) {
  Run([&why](StoreClientCore& core, SteadyTime now) { return core.Stop(now, why); });
}

absl::StatusOr<v1::StoreAnswer> StoreDriver::Call(v1::StoreOperation operation,
                                                  const CallOptions& options) {
  Waiter waiter;
  Lock lock(mutex_);
  const StoreCallId id = next_id_++;
  waiters_.emplace(id, &waiter);
  const SteadyTime now = SteadyClock::now();
  Apply(core_.Begin(now, id, std::move(operation), Deadline(now, *options.timeout)));
  Drain(&lock);
  lock.unlock();
  {
    const CancelWatch watch(options.cancellation, [this, id] {
      Run([id](StoreClientCore& core, SteadyTime at) { return core.Cancel(at, id); });
    });
    lock.lock();
    turns_.Await(&lock, &waiter, [&waiter] { return waiter.answer.has_value(); });
    lock.unlock();
  }
  if (!waiter.answer->ok()) log_->AwaitWritten();
  return *std::move(waiter.answer);
}

StoreCallId StoreDriver::Begin(v1::StoreOperation operation, Done done) {
  Lock lock(mutex_);
  const StoreCallId id = next_id_++;
  begun_.emplace(id, std::move(done));
  const SteadyTime now = SteadyClock::now();
  Apply(core_.Begin(now, id, std::move(operation), Deadline(now, absl::InfiniteDuration())));
  Drain(&lock);
  return id;
}

void StoreDriver::Cancel(StoreCallId id) {
  Run([id](StoreClientCore& core, SteadyTime now) { return core.Cancel(now, id); });
}

void StoreDriver::OnClientLost(std::function<void(const std::string& incarnation)> lost) {
  const Lock lock(mutex_);
  on_lost_ = std::move(lost);
}

absl::StatusOr<Subscription> StoreDriver::Watch(const std::string& prefix, WatchCallback callback) {
  Lock lock(mutex_);
  if (notifier_ == nullptr) {
    absl::StatusOr<std::unique_ptr<WatchNotifier>> notifier = WatchNotifier::Start();
    if (!notifier.ok()) return notifier.status();
    notifier_ = *std::move(notifier);
  }
  const StoreCallId id = next_id_++;
  notifier_->Add(id, std::move(callback));
  Apply(core_.Watch(SteadyClock::now(), id, prefix));
  Drain(&lock);
  return Subscription([driver = weak_from_this(), id, process = getpid()] {
    // In a fork, a thread of the parent may hold the lock for ever.
    if (getpid() != process) return;
    if (const auto owned = driver.lock()) owned->EndWatch(id);
  });
}

// The callback must not run after its subscription has ended, so it goes before the watch.
void StoreDriver::EndWatch(StoreCallId id) {
  notifier_->Remove(id);
  Run([id](StoreClientCore& core, SteadyTime now) { return core.Cancel(now, id); });
}

void StoreDriver::Run(Step step) {
  Lock lock(mutex_);
  Apply(step(core_, SteadyClock::now()));
  Drain(&lock);
}

void StoreDriver::RunInPoll(Step step) {
  Lock lock(mutex_);
  Apply(step(core_, SteadyClock::now()));
}

void StoreDriver::Apply(StoreEffects effects) {
  for (StoreOutput& output : effects.outputs) {
    // Lines overtake the messages before them, so that they precede the errors of this step.
    if (const auto* line = std::get_if<WarnOfStore>(&output)) {
      Do(*line);
    } else {
      streams_ += std::holds_alternative<OpenStoreStream>(output) ? 1 : 0;
      outbox_.push_back(std::move(output));
    }
  }
  for (const std::string& client : effects.lost) {
    if (on_lost_) on_lost_(client);
  }
  for (v1::StoreWatchEvent& event : effects.events) {
    const StoreCallId watch = event.watch();
    notifier_->Notify(watch, std::move(event));
  }
  for (StoreCompletion& completion : effects.completions) Complete(std::move(completion));
  if (is_polling_ && !stopping_ && core_.NextDeadline() < polls_until_) transport_->Wake();
}

void StoreDriver::Complete(StoreCompletion completion) {
  const auto begun = begun_.extract(completion.id);
  if (!begun.empty()) return begun.mapped()(std::move(completion.answer));
  const auto waiter = waiters_.extract(completion.id);
  if (waiter.empty()) return notifier_->Notify(completion.id, completion.answer.status());
  waiter.mapped()->answer = std::move(completion.answer);
  if (turns_.Notify(waiter.mapped())) transport_->Wake();
}

void StoreDriver::Drain(Lock* lock) {
  if (draining_) return;
  draining_ = true;
  while (!outbox_.empty()) {
    StoreOutput output = std::move(outbox_.front());
    outbox_.pop_front();
    lock->unlock();
    std::visit([this](auto& what) { Do(what); }, output);
    lock->lock();
  }
  draining_ = false;
}

void StoreDriver::Do(const OpenStoreStream& open) {
  StoreTransport::Handler handler;
  handler.on_response = [this, attempt = open.attempt](v1::StoreResponse response) {
    RunInPoll([&](StoreClientCore& core, SteadyTime now) {
      return core.OnMessage(now, attempt, std::move(response));
    });
  };
  handler.on_end = [this, attempt = open.attempt](const absl::Status& status) {
    RunInPoll([&](StoreClientCore& core, SteadyTime now) {
      --streams_;
      return core.OnStreamEnd(now, attempt, status);
    });
  };
  transport_->Open(open.attempt, std::move(handler));
}

void StoreDriver::Do(SendToStore& send) { transport_->Send(send.attempt, std::move(send.message)); }
void StoreDriver::Do(const LeaveStoreStream& leave) { transport_->FinishSending(leave.attempt); }
void StoreDriver::Do(const CancelStoreStream& cancel) { transport_->Cancel(cancel.attempt); }
void StoreDriver::Do(const WarnOfStore& line) { log_->Add({LogLevel::kWarning, line.line}); }

void StoreDriver::Poll(PollingTurns::How how) {
  how == PollingTurns::How::kNow ? transport_->PollNow() : transport_->Poll(BeginPoll());
}

SteadyTime StoreDriver::BeginPoll() {
  const Lock lock(mutex_);
  is_polling_ = true;
  // Keeps an earlier time, although its operation has ended. Otherwise the next operation would
  // have to wake the thread for its own time-out.
  if (polls_until_ <= SteadyClock::now()) polls_until_ = SteadyTime::max();
  polls_until_ = std::min(polls_until_, core_.NextDeadline());
  return stopping_ ? std::min(polls_until_, leaves_by_) : polls_until_;
}

void StoreDriver::EndPoll(Lock* lock) {
  is_polling_ = false;
  const SteadyTime now = SteadyClock::now();
  if (core_.NextDeadline() <= now) Apply(core_.Tick(now));
  Drain(lock);
}

void StoreDriver::StandIn() {
  Lock lock(mutex_);
  turns_.StandIn(
      &lock, [this] { return stopping_ && (streams_ == 0 || SteadyClock::now() >= leaves_by_); });
}

}  // namespace muster::internal
