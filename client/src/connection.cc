#include "client/src/connection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/address.h"
#include "client/src/cancel_watch.h"

namespace muster::internal {
namespace {

v1::CallContext* ContextOf(v1::JoinRequest* request) { return request->mutable_context(); }
template <class R>
auto ContextOf(R* request) -> decltype(request->mutable_call()) {
  return request->mutable_call();
}
template <class R>
auto ContextOf(R* request) -> decltype(request->mutable_context()->mutable_call()) {
  return request->mutable_context()->mutable_call();
}

void SetDuration(absl::Duration duration, google::protobuf::Duration* out) {
  out->set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  out->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(duration)));
}

void FillContext(const std::string& job_id, const Stamp& stamp, absl::Duration wait,
                 Request* request) {
  v1::CallContext* context = std::visit([](auto& r) { return ContextOf(&r); }, *request);
  context->set_job_id(job_id);
  context->mutable_session()->set_daemon_instance(stamp.session.daemon_instance);
  context->mutable_session()->set_counter(stamp.session.counter);
  context->set_attempt(stamp.attempt);
  SetDuration(wait, context->mutable_wait_timeout());
}

// Whether a reply says that the call may not have reached the coordinator's state machine.
bool MustRepeat(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsUnknown(status) || absl::IsCancelled(status);
}

}  // namespace

// A call that waits.
struct Connection::Waiter {
  explicit Waiter(const Patience& p) : patience(p) {}

  const Patience& patience;
  const SteadyTime start = SteadyClock::now();
  bool cancelled = false;  // under the mutex
  // Since when every send was answered at once with UNAVAILABLE.
  std::optional<SteadyTime> unavailable_since;
  Backoff backoff;
};

// One send of a call.
struct Connection::Attempt {
  Stamp stamp;
  SteadyTime start;
  std::shared_ptr<InFlight> in_flight;
  // Under the mutex.
  bool replied = false;
  bool counts = false;  // the reply came in the session that the call was sent in
  absl::Status status;
  Response response;
};

Connection::Connection(ConnectionOptions options, std::unique_ptr<Transport> transport)
    : options_(std::move(options)),
      listeners_(std::make_shared<FailureListeners>()),
      transport_(std::move(transport)),
      keeper_(std::make_unique<SessionKeeper>(&options_, transport_.get(), &shared_, listeners_)) {}

Connection::~Connection() {
  Stop();
  keeper_->Join();
  transport_.reset();  // ends its callbacks, which use all of the rest
}

void Connection::Stop() {
  Lock lock(shared_.mutex);
  shared_.stopping = true;
  shared_.changed.notify_all();
}

absl::Status Connection::AwaitRegistered(const Patience& patience) {
  Waiter waiter(patience);
  CancelWatch watch(patience.cancellation, [&] {
    Lock lock(shared_.mutex);
    waiter.cancelled = true;
    shared_.changed.notify_all();
  });
  bool late = false;
  Lock lock(shared_.mutex);
  const absl::Status status = Await(
      &lock, waiter, waiter.patience.deadline, [&] { return shared_.state.session().has_value(); },
      [&] {
        late = true;
        return absl::DeadlineExceededError(shared_.last_error);
      });
  lock.unlock();
  return late ? NotRegistered(patience, status.message()) : status;
}

void Connection::Joined(const EpochId& epoch, int rank) {
  Lock lock(shared_.mutex);
  shared_.rank = rank;
  shared_.state.Joined(epoch);
  shared_.changed.notify_all();
}

void Connection::Left() {
  Lock lock(shared_.mutex);
  shared_.left = true;
  shared_.changed.notify_all();
}

absl::StatusOr<Response> Connection::Call(Request request, const Patience& patience, int* sends) {
  *sends = 0;
  Waiter waiter(patience);
  CancelWatch watch(patience.cancellation, [&] {
    Lock lock(shared_.mutex);
    waiter.cancelled = true;
    shared_.changed.notify_all();
  });
  while (true) {
    if (absl::Status status = AwaitSession(waiter); !status.ok()) return status;
    ++*sends;
    absl::StatusOr<std::optional<Response>> reply = SendOnce(&request, &waiter);
    if (!reply.ok()) return reply.status();
    if (reply->has_value()) return **std::move(reply);
    if (absl::Status status = PauseBeforeRetry(&waiter); !status.ok()) return status;
  }
}

absl::Status Connection::AwaitSession(const Waiter& waiter) {
  Lock lock(shared_.mutex);
  if (absl::Status status = Interruption(waiter); !status.ok()) return status;
  const SteadyTime patience_ends = After(shared_.detached_since, options_.coordinator_timeout);
  return Await(
      &lock, waiter, std::min(waiter.patience.deadline, patience_ends),
      [&] { return shared_.state.session().has_value(); }, [&] { return Unreachable(waiter); });
}

absl::StatusOr<std::optional<Response>> Connection::SendOnce(Request* request, Waiter* waiter) {
  const std::shared_ptr<Attempt> attempt = Send(request, *waiter);
  if (attempt == nullptr) return std::nullopt;  // the session ended meanwhile
  const absl::Status waited = AwaitReply(attempt.get(), *waiter);
  if (!waited.ok()) return waited;
  Lock lock(shared_.mutex);
  if (!attempt->counts) return std::nullopt;
  if (!MustRepeat(attempt->status)) {
    if (!attempt->status.ok()) return attempt->status;
    return std::optional<Response>(std::move(attempt->response));
  }
  shared_.last_error = std::string(attempt->status.message());
  // An answer that took a while was parked: the coordinator was there.
  if (!waiter->unavailable_since || SteadyClock::now() - attempt->start > std::chrono::seconds(1)) {
    waiter->unavailable_since = SteadyClock::now();
  }
  return std::nullopt;
}

std::shared_ptr<Connection::Attempt> Connection::Send(Request* request, const Waiter& waiter) {
  auto attempt = std::make_shared<Attempt>();
  attempt->start = SteadyClock::now();
  {
    Lock lock(shared_.mutex);
    if (!shared_.state.session()) return nullptr;
    attempt->stamp = shared_.state.NewStamp();
  }
  const absl::Duration wait =
      std::max(absl::ZeroDuration(), Between(attempt->start, waiter.patience.deadline));
  FillContext(options_.job_id, attempt->stamp, wait, request);
  // The transport's own limit comes last: it only cleans up.
  attempt->in_flight =
      transport_->Call(*request, wait + 2 * options_.slack,
                       [this, attempt](const absl::Status& status, Response response) {
                         OnReply(attempt.get(), status, std::move(response));
                       });
  return attempt;
}

void Connection::OnReply(Attempt* attempt, const absl::Status& status, Response response) {
  Lock lock(shared_.mutex);
  attempt->replied = true;
  attempt->counts = shared_.state.IsCurrent(attempt->stamp);
  attempt->status = status;
  attempt->response = std::move(response);
  if (attempt->counts && absl::IsAborted(status) && !shared_.left) shared_.state.Break(status);
  shared_.changed.notify_all();
}

absl::Status Connection::AwaitReply(Attempt* attempt, const Waiter& waiter) {
  Lock lock(shared_.mutex);
  const absl::Status status = Await(
      &lock, waiter, After(waiter.patience.deadline, options_.slack),
      [&] { return attempt->replied || !shared_.state.IsCurrent(attempt->stamp); },
      [&] { return Unreachable(waiter); });
  const bool pending = !attempt->replied;
  lock.unlock();
  // So that the coordinator withdraws it.
  if (pending) attempt->in_flight->Cancel();
  return status;
}

absl::Status Connection::PauseBeforeRetry(Waiter* waiter) {
  Lock lock(shared_.mutex);
  const SteadyTime now = SteadyClock::now();
  if (waiter->unavailable_since &&
      now - *waiter->unavailable_since > absl::ToChronoNanoseconds(options_.coordinator_timeout)) {
    return Unreachable(*waiter);
  }
  const SteadyTime until = After(now, waiter->backoff.Next());
  return Await(
      &lock, *waiter, until, [] { return false; }, [] { return absl::OkStatus(); });
}

template <class Ready, class Late>
absl::Status Connection::Await(Lock* lock, const Waiter& waiter, SteadyTime until, Ready ready,
                               Late late) const {
  while (!ready()) {
    if (absl::Status status = Interruption(waiter); !status.ok()) return status;
    if (SteadyClock::now() >= until) return late();
    shared_.changed.wait_until(*lock, until);
  }
  return absl::OkStatus();
}

absl::Status Connection::Interruption(const Waiter& waiter) const {
  const Patience& patience = waiter.patience;
  if (shared_.stopping) {
    return absl::CancelledError(absl::StrCat(patience.what, ": the Job was destroyed"));
  }
  if (!shared_.state.health().ok()) return shared_.state.health();
  if (waiter.cancelled) {
    return absl::CancelledError(
        absl::StrCat(patience.what, ": ", Describe(options_, shared_), " was cancelled"));
  }
  return absl::OkStatus();
}

absl::Status Connection::Unreachable(const Waiter& waiter) const {
  const SteadyTime now = SteadyClock::now();
  const bool timed_out = now >= waiter.patience.deadline;
  const SteadyTime since = shared_.state.session() ? waiter.unavailable_since.value_or(waiter.start)
                                                   : shared_.detached_since;
  const std::string text = absl::StrCat(
      waiter.patience.what, ": ", Describe(options_, shared_),
      timed_out
          ? absl::StrCat(" timed out after ", absl::FormatDuration(waiter.patience.timeout), "; it")
          : "",
      " could not reach the coordinator at ", options_.coordinator, " for ",
      absl::FormatDuration(Rounded(Between(since, now))),
      " (last error: ", shared_.last_error.empty() ? "no answer" : shared_.last_error,
      "); is musterd running there?");
  return timed_out ? absl::DeadlineExceededError(text) : absl::UnavailableError(text);
}

absl::Status Connection::NotRegistered(const Patience& patience, absl::string_view error) const {
  const char* phase = transport_->connected() ? "registering with" : "connecting to";
  return absl::DeadlineExceededError(absl::StrCat(
      patience.what, ": timed out after ", absl::FormatDuration(patience.timeout), " while ", phase,
      " the coordinator at ", options_.coordinator,
      error.empty() ? "" : absl::StrCat(" (", error, ")"), "; is musterd running there?"));
}

v1::Limits Connection::limits() const {
  Lock lock(shared_.mutex);
  return shared_.limits;
}

std::string Connection::local_address() const { return LocalAddressTowards(transport_->peer()); }

absl::Status Connection::health() const {
  Lock lock(shared_.mutex);
  return shared_.state.health();
}

absl::Status Connection::AwaitFailure(absl::Duration timeout) const {
  const SteadyTime until = After(SteadyClock::now(), timeout);
  Lock lock(shared_.mutex);
  shared_.changed.wait_until(lock, until,
                             [&] { return shared_.stopping || !shared_.state.health().ok(); });
  return shared_.state.health();
}

Subscription Connection::OnFailure(std::function<void(const absl::Status&)> callback) const {
  return listeners_->Add(std::move(callback));
}

}  // namespace muster::internal
