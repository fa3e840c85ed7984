#include "client/src/session_keeper.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "muster/log.h"
#include "muster/version.h"

namespace muster::internal {
namespace {

// docs/protocol.md: the version of the wire protocol.
constexpr uint32_t kProtocolVersion = 1;

// Whether the end of a stream says something about the way to the coordinator and not about this
// member.
bool IsTransportError(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:  // a coordinator that ends
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
      return true;
    default:
      return false;
  }
}

// What answers may be no musterd, or one of a later protocol that leaves out what this one needs.
absl::Status CheckAnswer(const v1::AttachResponse& response) {
  const v1::Attached& attached = response.attached();
  if (response.has_attached() && attached.has_session() && attached.limits().max_name_bytes() > 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the versions do not fit: this SDK is ", MUSTER_VERSION, " and speaks protocol ",
                   kProtocolVersion, "; the coordinator is '", attached.daemon_version(),
                   "' and does not answer as that protocol says"));
}

// The final error of an attach, in the words of a caller.
absl::Status Refusal(const ConnectionOptions& options, bool joined, const absl::Status& status) {
  if (joined) return absl::AbortedError(status.message());
  const std::string where = absl::StrCat("registering with ", options.coordinator, ": ");
  if (absl::IsUnimplemented(status)) {
    return absl::FailedPreconditionError(
        absl::StrCat(where, "what listens there is no musterd that speaks protocol ",
                     kProtocolVersion, " of SDK ", MUSTER_VERSION, " (", status.message(), ")"));
  }
  return absl::Status(status.code(), absl::StrCat(where, status.message()));
}

}  // namespace

std::string Describe(const ConnectionOptions& options, const SharedSession& shared) {
  const std::string job = absl::StrCat("job '", options.job_id, "'");
  return shared.rank ? absl::StrCat("rank ", *shared.rank, " of ", job) : job;
}

SessionKeeper::SessionKeeper(const ConnectionOptions* options, Transport* transport,
                             SharedSession* shared, std::shared_ptr<FailureListeners> listeners)
    : options_(options),
      transport_(transport),
      shared_(shared),
      listeners_(std::move(listeners)),
      thread_([this] { Run(); }) {}

void SessionKeeper::Run() {
  Backoff backoff;
  Lock lock(shared_->mutex);
  while (!shared_->stopping) {
    lock.unlock();
    const auto stream = std::make_shared<Stream>();
    const std::shared_ptr<InFlight> in_flight = Open(stream);
    lock.lock();
    WaitUntil(&lock, std::nullopt, [&] { return stream->end.has_value() || shared_->left; });
    if (!stream->end) {
      lock.unlock();
      return in_flight->Cancel();
    }
    if (!MayTryAgain(*stream)) break;
    lock.unlock();
    LogEnd(*stream);
    lock.lock();
    if (stream->answered) backoff.Reset();
    WaitUntil(&lock, After(SteadyClock::now(), backoff.Next()), [] { return false; });
  }
  WaitUntil(&lock, std::nullopt, [] { return false; });
}

std::shared_ptr<InFlight> SessionKeeper::Open(const std::shared_ptr<Stream>& stream) {
  Lock lock(shared_->mutex);
  stream->attach = shared_->state.BeginAttach();
  const v1::AttachRequest request = NewRequest(stream->attach);
  lock.unlock();
  Transport::StreamHandler handler;
  handler.on_response = [this, stream](const v1::AttachResponse& response) {
    OnResponse(stream.get(), response);
  };
  handler.on_end = [this, stream](const absl::Status& status) { OnEnd(stream.get(), status); };
  return transport_->Attach(request, std::move(handler));
}

v1::AttachRequest SessionKeeper::NewRequest(uint64_t attach) const {
  v1::AttachRequest request;
  request.set_job_id(options_->job_id);
  const Identity& identity = options_->identity;
  request.mutable_member()->set_incarnation(identity.incarnation);
  request.mutable_member()->set_start_time_micros(identity.start_time_micros);
  request.mutable_member()->set_node_id(identity.node_id);
  request.mutable_member()->set_hostname(identity.hostname);
  request.mutable_member()->set_pid(identity.pid);
  request.set_protocol_version(kProtocolVersion);
  request.set_sdk_version(MUSTER_VERSION);
  request.set_attempt(attach);
  if (const std::optional<EpochId>& epoch = shared_->state.epoch()) {
    request.mutable_epoch()->set_number(epoch->number);
    request.mutable_epoch()->set_nonce(epoch->nonce);
  }
  return request;
}

void SessionKeeper::OnResponse(Stream* stream, const v1::AttachResponse& response) {
  Lock lock(shared_->mutex);
  if (!shared_->state.IsLatest(stream->attach)) return;
  if (!stream->answered) {
    stream->answered = true;
    if (const absl::Status fits = CheckAnswer(response); !fits.ok()) {
      shared_->state.Break(Refusal(*options_, shared_->rank.has_value(), fits));
    } else {
      OnAttached(stream, response.attached());
    }
  } else if (response.has_epoch_broken() && !shared_->left) {
    const v1::EpochBroken& broken = response.epoch_broken();
    shared_->state.EpochBroken({broken.epoch().number(), broken.epoch().nonce()},
                               absl::AbortedError(broken.reason()));
  }
  shared_->changed.notify_all();
}

void SessionKeeper::OnAttached(Stream* stream, const v1::Attached& attached) {
  const v1::SessionId& session = attached.session();
  shared_->state.Attached(stream->attach, {session.daemon_instance(), session.counter()});
  shared_->limits = attached.limits();
  shared_->last_error.clear();
}

void SessionKeeper::OnEnd(Stream* stream, const absl::Status& status) {
  Lock lock(shared_->mutex);
  stream->end = status;
  if (stream->answered) shared_->detached_since = SteadyClock::now();
  shared_->last_error =
      status.ok() ? "the coordinator ended the session" : std::string(status.message());
  shared_->state.Detached(stream->attach);
  shared_->changed.notify_all();
}

bool SessionKeeper::MayTryAgain(const Stream& stream) {
  if (shared_->left || !shared_->state.health().ok()) return false;
  if (IsTransportError(*stream.end)) return true;
  shared_->state.Break(Refusal(*options_, shared_->rank.has_value(), *stream.end));
  shared_->changed.notify_all();
  return false;
}

void SessionKeeper::LogEnd(const Stream& stream) {
  if (stream.answered) trouble_logged_ = false;
  if (std::exchange(trouble_logged_, true)) return;
  Lock lock(shared_->mutex);
  const std::string line = absl::StrCat(
      Describe(*options_, *shared_),
      stream.answered ? ": lost the connection to" : ": cannot reach", " the coordinator at ",
      options_->coordinator, ", trying again: ", shared_->last_error);
  lock.unlock();
  Log(LogLevel::kWarning, line);
}

template <class Ready>
void SessionKeeper::WaitUntil(Lock* lock, std::optional<SteadyTime> until, Ready ready) {
  const SteadyTime end = until.value_or(After(SteadyClock::now(), absl::InfiniteDuration()));
  while (!shared_->stopping) {
    TellListeners(lock);
    if (shared_->stopping || ready() || SteadyClock::now() >= end) return;
    shared_->changed.wait_until(*lock, end);
  }
}

void SessionKeeper::TellListeners(Lock* lock) {
  const absl::Status failure = shared_->state.health();
  if (failure.ok() || std::exchange(listeners_told_, true)) return;
  lock->unlock();
  listeners_->Notify(failure);
  lock->lock();
}

}  // namespace muster::internal
