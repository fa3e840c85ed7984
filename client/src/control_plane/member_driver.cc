#include "client/src/control_plane/member_driver.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "client/src/base/cancel_watch.h"
#include "client/src/base/local_address.h"
#include "client/src/protocol/messages/messages.h"
#include "common/process/start_thread.h"

namespace muster::internal {
namespace {

// A loss may be noticed that much later. No other member waits for what this member receives.
constexpr PollingTurns::Pauses kPauses = {std::chrono::milliseconds(20),
                                          std::chrono::milliseconds(20)};

}  // namespace

absl::StatusOr<std::shared_ptr<MemberDriver>> MemberDriver::Start(
    MemberOptions options, std::unique_ptr<Transport> transport, const FanInTimes& times) {
  absl::StatusOr<std::unique_ptr<LogWriter>> log = LogWriter::Start();
  if (!log.ok()) return log.status();
  std::shared_ptr<MemberDriver> driver(
      new MemberDriver(std::move(options), std::move(transport), times, *std::move(log)),
      &MemberDriver::Delete);
  if (absl::Status status = driver->StartThreads(); !status.ok()) return status;
  return driver;
}

MemberDriver::MemberDriver(MemberOptions options, std::unique_ptr<Transport> transport,
                           const FanInTimes& times, std::unique_ptr<LogWriter> log)
    : transport_(std::move(transport)),
      log_(std::move(log)),
      member_([&] {
        options.connected = [this] { return transport_->connected(); };
        return std::move(options);
      }()),
      fan_in_(times),
      turns_(
          kPauses,
          [this](PollingTurns::How how) {
            how == PollingTurns::How::kNow ? transport_->PollNow() : transport_->Poll();
          },
          [this](Lock* lock) { Drain(lock); }) {}

// Starts both threads under the lock, for which they wait. So if the second thread cannot be
// created, the first one has sent nothing.
absl::Status MemberDriver::StartThreads() {
  constexpr absl::string_view kTask = "talk to the coordinator";
  Lock lock(mutex_);
  absl::StatusOr<std::thread> thread = StartThread(kTask, [this] {
    RunThread();
    if (unowned_) delete this;
  });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  absl::StatusOr<std::thread> stand_in = StartThread(kTask, [this] { StandIn(); });
  stopping_ = !stand_in.ok();
  if (stopping_) return stand_in.status();
  stand_in_ = *std::move(stand_in);
  Apply(member_.Start(SteadyClock::now()));
  return absl::OkStatus();
}

MemberDriver::~MemberDriver() {
  Close();
  Stop();
  if (unowned_) thread_.detach();
  if (thread_.joinable()) thread_.join();
  if (stand_in_.joinable()) stand_in_.join();
  transport_.reset();  // ends its callbacks, which use all other fields
}

void MemberDriver::Stop() {
  Lock lock(mutex_);
  stopping_ = true;
  state_changed_.notify_all();
  WakeThread();
  turns_.WakeStandIn();
  transport_->Wake();
}

// Closes the driver when its last owner is released. If a listener does that on `thread_`, the
// thread cannot join itself, and a helper thread might not be available. So `thread_` deletes the
// driver after the listener has returned.
void MemberDriver::Delete(MemberDriver* driver) {
  if (driver->thread_.get_id() != std::this_thread::get_id()) {
    delete driver;
    return;
  }
  driver->Close();
  driver->unowned_ = true;
  driver->Stop();
}

void MemberDriver::Close() {
  Run([](MemberCore& member, SteadyTime now) { return member.Stop(now); });
}

void MemberDriver::Forget(const EpochId& epoch) {
  // Destroyed without the lock, since callbacks may own other objects of the job.
  Listeners forgotten;
  Lock lock(mutex_);
  const auto entry = listeners_.find(epoch);
  if (entry != listeners_.end()) {
    std::swap(forgotten, entry->second);
    listeners_.erase(entry);
  }
  member_.Forget(epoch);
}

absl::StatusOr<Response> MemberDriver::CallAndWait(Cancellation* cancellation, BeginCall begin) {
  absl::StatusOr<Response> reply = Call(cancellation, begin);
  if (!reply.ok()) log_->AwaitWritten();
  return reply;
}

absl::StatusOr<Response> MemberDriver::Call(Cancellation* cancellation, BeginCall begin) {
  Waiter waiter;
  Lock lock(mutex_);
  const CallId id = next_call_++;
  waiters_.emplace(id, &waiter);
  Apply(begin(member_, SteadyClock::now(), id));
  Drain(&lock);
  lock.unlock();
  CancelWatch watch(cancellation, [this, id] { Cancel(id); });
  lock.lock();
  AwaitReply(&lock, &waiter);
  // Carries out what the end of the call caused, such as its withdrawal.
  Drain(&lock);
  lock.unlock();
  return *std::move(waiter.reply);
}

void MemberDriver::Run(Step step) {
  Lock lock(mutex_);
  Apply(step(member_, SteadyClock::now()));
  Drain(&lock);
}

void MemberDriver::RunInPoll(Step step) {
  Lock lock(mutex_);
  Apply(step(member_, SteadyClock::now()));
}

// Leaves the sending to the thread: a canceller must not be delayed by it.
void MemberDriver::Cancel(CallId id) {
  Lock lock(mutex_);
  Apply(member_.Cancel(SteadyClock::now(), id));
  if (!outbox_.empty() && !draining_) WakeThread();
}

void MemberDriver::AwaitReply(Lock* lock, Waiter* waiter) {
  while (true) {
    turns_.Await(lock, waiter, [&] { return waiter->reply || waiter->round; });
    if (waiter->round == nullptr) return;
    RunFanInRound(lock, waiter);
  }
}

void MemberDriver::RunFanInRound(Lock* lock, Waiter* waiter) {
  const std::shared_ptr<FanInDriver::GroupRounds> rounds = std::exchange(waiter->round, nullptr);
  const uint64_t attempt = rounds->attempt;
  lock->unlock();
  const FanInEnd end = rounds->round.Run(
      [&](const std::vector<TakenPart>& parts) { return SendForNode(attempt, parts); });
  lock->lock();
  fan_in_.End(rounds.get());
  Apply(member_.OnFanInEnd(SteadyClock::now(), attempt, end));
  Drain(lock);
}

std::optional<Delivery> MemberDriver::SendForNode(uint64_t attempt,
                                                  const std::vector<TakenPart>& parts) {
  {
    Lock lock(mutex_);
    if (auto on_node = member_.CompleteOnNode(attempt, parts)) return on_node;
  }
  const absl::Duration patience = absl::Nanoseconds(fan_in_.times().patience);
  return DeliveryOf(Call(nullptr, [&](MemberCore& member, SteadyTime now, CallId id) {
    return member.SendForNode(now, id, attempt, parts, patience);
  }));
}

void MemberDriver::StandIn() {
  Lock lock(mutex_);
  turns_.StandIn(&lock, [this] { return stopping_; });
}

void MemberDriver::Apply(Effects effects) {
  for (Output& output : effects.outputs) {
    // Lines overtake the sends before them, so that they precede the errors of this step.
    if (auto* line = std::get_if<WriteLog>(&output)) {
      Do(std::move(*line));
    } else {
      outbox_.push_back(std::move(output));
    }
  }
  for (Completion& completion : effects.completions) Complete(std::move(completion));
  if (effects.state_changed) state_changed_.notify_all();
  if (effects.state_changed || member_.NextDeadline() < thread_wakes_at_) WakeThread();
}

void MemberDriver::Complete(Completion completion) {
  Waiter* const waiter = waiters_.extract(completion.call).mapped();
  waiter->reply = std::move(completion.reply);
  Notify(waiter);
}

void MemberDriver::Notify(Waiter* waiter) {
  if (turns_.Notify(waiter)) transport_->Wake();
}

void MemberDriver::Drain(Lock* lock) {
  if (draining_) return;
  draining_ = true;
  while (!outbox_.empty()) {
    Output output = std::move(outbox_.front());
    outbox_.pop_front();
    lock->unlock();
    std::visit([this](auto& what) { Do(std::move(what)); }, output);
    lock->lock();
  }
  draining_ = false;
}

void MemberDriver::Do(SendCall send) {
  auto done = [this, attempt = send.attempt](const absl::Status& status, Response response) {
    RunInPoll([&](MemberCore& member, SteadyTime now) {
      return member.OnReply(now, attempt, status, std::move(response));
    });
  };
  transport_->Call(send.attempt, std::move(send.request), std::move(done));
}

void MemberDriver::Do(OpenStream open) {
  Transport::StreamHandler handler;
  handler.on_response = [this, attempt = open.attempt](const v1::AttachResponse& response) {
    RunInPoll([&](MemberCore& member, SteadyTime now) {
      return member.OnStreamResponse(now, attempt, response);
    });
  };
  handler.on_end = [this, attempt = open.attempt](const absl::Status& status) {
    RunInPoll([&](MemberCore& member, SteadyTime now) {
      return member.OnStreamEnd(now, attempt, status);
    });
  };
  transport_->Attach(open.attempt, std::move(open.request), std::move(handler));
}

void MemberDriver::Do(const CancelSend& cancel) { transport_->Cancel(cancel.attempt); }

void MemberDriver::Do(const EnterNode& enter) {
  auto segment = FanInDriver::Open(enter);
  Lock lock(mutex_);
  fan_in_.Enter(enter, std::move(segment));
  LogFanIn();
}

void MemberDriver::Do(const StartFanIn& start) {
  Lock lock(mutex_);
  const auto waiter = waiters_.find(start.call);
  if (waiter == waiters_.end()) return;  // the call has ended meanwhile
  waiter->second->round = fan_in_.Begin(start);
  LogFanIn();
  if (waiter->second->round != nullptr) return Notify(waiter->second);
  const FanInEnd alone{FanInEnd::kCallAlone, /*unsent=*/true, false, {}};
  Apply(member_.OnFanInEnd(SteadyClock::now(), start.contribution.attempt, alone));
}

void MemberDriver::Do(const LeaveFanIn& leave) {
  Lock lock(mutex_);
  fan_in_.Leave(leave.attempt);
}

void MemberDriver::Do(const SkipFanIn& skip) {
  Lock lock(mutex_);
  fan_in_.Skip(skip);
  LogFanIn();
}

void MemberDriver::Do(const RetireFanInGroup& leave) {
  Lock lock(mutex_);
  fan_in_.Retire(leave);
}

void MemberDriver::Do(WriteLog line) { log_->Add(std::move(line)); }

void MemberDriver::LogFanIn() {
  std::optional<std::string> line = fan_in_.TakeLogLine();
  if (line) Do(WriteLog{LogLevel::kDebug, *std::move(line)});
}

absl::Status MemberDriver::AfterLog(absl::Status status) const {
  if (!status.ok()) log_->AwaitWritten();
  return status;
}

void MemberDriver::RunThread() {
  Lock lock(mutex_);
  while (!stopping_) {
    thread_wakes_at_ = SteadyTime::min();  // the thread is awake, and needs no wake-up
    const SteadyTime now = SteadyClock::now();
    if (member_.NextDeadline() <= now) Apply(member_.Tick(now));
    thread_must_check_ = false;
    Drain(&lock);
    NotifyListeners(&lock);
    if (thread_must_check_ || stopping_) continue;
    thread_wakes_at_ = member_.NextDeadline();
    thread_wakes_.wait_until(lock, thread_wakes_at_, [this] { return thread_must_check_; });
  }
  Drain(&lock);
  NotifyListeners(&lock);
}

void MemberDriver::WakeThread() {
  thread_must_check_ = true;
  thread_wakes_.notify_one();
}

void MemberDriver::NotifyListeners(Lock* lock) {
  std::vector<EpochId> epochs;
  for (const auto& entry : listeners_) epochs.push_back(entry.first);
  for (const EpochId& epoch : epochs) NotifyListeners(lock, epoch);
}

void MemberDriver::NotifyListeners(Lock* lock, const EpochId& epoch) {
  const auto entry = listeners_.find(epoch);
  if (entry == listeners_.end()) return;
  Listeners& listeners = entry->second;
  const absl::Status failure = member_.HealthOf(epoch);
  const bool notify_failure =
      !failure.ok() && !std::exchange(listeners.failure_notified, !failure.ok());
  const bool newcomers = member_.NewcomersWaiting(epoch) > 0;
  const bool notify_newcomers =
      newcomers && !std::exchange(listeners.newcomers_notified, newcomers);
  Listeners notified =
      listeners;  // a copy, because a callback may make the driver forget this epoch
  lock->unlock();
  if (notify_failure) notified.failure->Notify(failure);
  if (notify_newcomers) notified.newcomers->Notify();
  notified.failure.reset();
  notified.newcomers.reset();
  lock->lock();
}

absl::Status MemberDriver::HealthOf(const EpochId& epoch) const {
  Lock lock(mutex_);
  return member_.HealthOf(epoch);
}

absl::Status MemberDriver::AwaitFailure(const EpochId& epoch, absl::Duration timeout) const {
  const SteadyTime until = After(SteadyClock::now(), timeout);
  {
    Lock lock(mutex_);
    const PollingTurns::AwaitingChange awaiting(&turns_);
    state_changed_.wait_until(lock, until,
                              [&] { return stopping_ || !member_.HealthOf(epoch).ok(); });
  }
  return AfterLog(HealthOf(epoch));
}

absl::Status MemberDriver::AwaitLoss(const EpochId& epoch, absl::Duration timeout,
                                     Cancellation* cancellation) const {
  const SteadyTime since = SteadyClock::now();
  const SteadyTime until = After(since, timeout);
  bool cancelled = false;  // guarded by the lock
  const CancelWatch watch(cancellation, [&] {
    Lock lock(mutex_);
    cancelled = true;
    state_changed_.notify_all();
  });
  const auto ended = [&] { return stopping_ || cancelled || !member_.HealthOf(epoch).ok(); };
  Lock lock(mutex_);
  const PollingTurns::AwaitingChange awaiting(&turns_);
  SteadyTime wake;
  // An attach in the meantime may move LossKnownBy() further away.
  while (!ended() && (wake = std::min(until, member_.LossKnownBy(since))) > SteadyClock::now()) {
    state_changed_.wait_until(lock, wake);
  }
  return member_.HealthOf(epoch);
}

bool MemberDriver::StopRequested(const EpochId& epoch) const {
  Lock lock(mutex_);
  return member_.StopRequested(epoch);
}

int MemberDriver::NewcomersWaiting(const EpochId& epoch) const {
  Lock lock(mutex_);
  return member_.NewcomersWaiting(epoch);
}

Subscription MemberDriver::OnFailure(const EpochId& epoch,
                                     OneTimeEvent<absl::Status>::Callback callback) {
  Lock lock(mutex_);
  const std::shared_ptr<OneTimeEvent<absl::Status>> listeners = listeners_[epoch].failure;
  WakeThread();
  lock.unlock();
  return listeners->Add(std::move(callback));
}

Subscription MemberDriver::OnNewcomers(const EpochId& epoch, OneTimeEvent<>::Callback callback) {
  Lock lock(mutex_);
  const std::shared_ptr<OneTimeEvent<>> listeners = listeners_[epoch].newcomers;
  WakeThread();
  lock.unlock();
  return listeners->Add(std::move(callback));
}

v1::Limits MemberDriver::limits() const {
  Lock lock(mutex_);
  return member_.limits();
}

std::string MemberDriver::local_address() const { return LocalAddressTowards(transport_->peer()); }

}  // namespace muster::internal
