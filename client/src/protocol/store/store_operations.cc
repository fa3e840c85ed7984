#include "client/src/protocol/store/store_operations.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/src/base/error_note.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::internal {

StoreOperations::StoreOperations(const StoreClientOptions& options, StoreStream* stream,
                                 StoreOutbox* outbox)
    : options_(options), stream_(*stream), outbox_(*outbox) {}

void StoreOperations::Begin(StoreCallId id, v1::StoreOperation operation,
                            const Deadline& deadline) {
  operation.set_id(id);
  pending_.emplace(id, Pending{std::move(operation), deadline, 0, false, false, 0});
}

void StoreOperations::Cancel(StoreCallId id) {
  const auto pending = pending_.find(id);
  if (pending != pending_.end()) pending->second.cancelled = true;
}

void StoreOperations::TakeAnswer(v1::StoreAnswer answer) {
  const StoreCallId id = answer.operation();
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  const absl::Status status = AnswerStatus(answer);
  if (status.ok()) return End(id, std::move(answer));
  const bool given_up = absl::IsCancelled(status) && found->second.is_given_up();
  End(id, given_up ? GivenUp(found->second) : status);
}

void StoreOperations::EndAll(const absl::Status& why) {
  while (!pending_.empty()) {
    const auto& [id, pending] = *pending_.begin();
    End(id, Reworded(why, absl::StrCat(Describe(pending), ": ", why.message())));
  }
}

void StoreOperations::Advance(SteadyTime now, absl::FunctionRef<void(StoreCallId)> before_send) {
  for (auto next = pending_.begin(); next != pending_.end();) {
    auto& [id, pending] = *next++;
    if (stream_.is_open()) {
      AdvanceOnStream(now, id, &pending, before_send);
    } else {
      AdvanceDetached(now, id, pending);
    }
  }
}

void StoreOperations::AdvanceOnStream(SteadyTime now, StoreCallId id, Pending* pending,
                                      absl::FunctionRef<void(StoreCallId)> before_send) {
  if (pending->cancelled && pending->sent_on == 0) return End(id, GivenUp(*pending));
  if (pending->sent_on != stream_.attempt()) {
    if (absl::Status fits = CheckLimits(*pending); !fits.ok()) return End(id, fits);
    before_send(id);
    Send(now, pending);
  }
  if (now >= After(pending->deadline.when(), options_.slack)) pending->overdue = true;
  if (!pending->is_given_up()) return;
  if (std::exchange(pending->cancel_sent_on, stream_.attempt()) != stream_.attempt()) {
    v1::StoreRequest request;
    request.mutable_cancel()->set_operation(id);
    stream_.Send(std::move(request));
  }
  if (pending->may_end_here()) End(id, GivenUp(*pending));
}

void StoreOperations::Send(SteadyTime now, Pending* pending) {
  const absl::Duration left = Between(now, pending->deadline.when());
  v1::StoreRequest request;
  *request.mutable_operation() = pending->operation;
  if (!request.operation().has_wait_timeout()) {
    SetDuration(std::max(left, absl::ZeroDuration()),
                request.mutable_operation()->mutable_wait_timeout());
  }
  stream_.Send(std::move(request));
  pending->sent_on = stream_.attempt();
}

void StoreOperations::AdvanceDetached(SteadyTime now, StoreCallId id, const Pending& pending) {
  if (pending.may_end_here() && pending.is_given_up()) return End(id, GivenUp(pending));
  if (now >= DeadlineOf(pending)) End(id, Unreachable(now, pending));
}

SteadyTime StoreOperations::NextDeadline() const {
  SteadyTime next = SteadyTime::max();
  for (const auto& [id, pending] : pending_) next = std::min(next, DeadlineOf(pending));
  return next;
}

SteadyTime StoreOperations::DeadlineOf(const Pending& pending) const {
  if (stream_.is_open()) {
    return pending.is_given_up() ? SteadyTime::max()
                                 : After(pending.deadline.when(), options_.slack);
  }
  const SteadyTime gives_up = After(stream_.detached_since(), options_.coordinator_timeout);
  return pending.may_end_here() ? std::min(gives_up, pending.deadline.when()) : gives_up;
}

void StoreOperations::AddUnanswered(v1::StoreOpen* open) const {
  for (const auto& entry : pending_) open->add_unanswered(entry.first);
}

const std::string* StoreOperations::FindValue(StoreCallId id) const {
  const auto pending = pending_.find(id);
  return pending == pending_.end() ? nullptr : ValueOf(pending->second.operation);
}

bool StoreOperations::IsRead(StoreCallId id) const {
  const auto pending = pending_.find(id);
  return pending != pending_.end() && !MayChange(pending->second.operation);
}

void StoreOperations::End(StoreCallId id, absl::StatusOr<v1::StoreAnswer> answer) {
  pending_.erase(id);
  outbox_.Complete(id, std::move(answer));
}

absl::Status StoreOperations::CheckLimits(const Pending& pending) const {
  const v1::StoreOpened& limits = stream_.limits();
  const size_t key = KeyOf(pending.operation).size();
  const std::string* const value = ValueOf(pending.operation);
  if (key > limits.max_key_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        Describe(pending), ": the key has ", key, " bytes, and the coordinator allows ",
        limits.max_key_bytes(), " (musterd --max-store-key-bytes)"));
  }
  if (value != nullptr && value->size() > limits.max_value_bytes()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        Describe(pending), ": the value has ", value->size(), " bytes, and the coordinator allows ",
        limits.max_value_bytes(), " (musterd --max-store-value-bytes)"));
  }
  return absl::OkStatus();
}

std::string StoreOperations::Describe(const Pending& pending) const {
  return absl::StrCat("job '", options_.job_id, "': ", DescribeStoreCall(pending.operation));
}

absl::Status StoreOperations::GivenUp(const Pending& pending) const {
  const std::string what = Describe(pending);
  if (pending.cancelled) return absl::CancelledError(absl::StrCat(what, " was cancelled"));
  return absl::DeadlineExceededError(absl::StrCat(
      what, " timed out after ", absl::FormatDuration(pending.deadline.timeout()),
      "; the coordinator at ", options_.coordinator, " did not say what it waited for"));
}

absl::Status StoreOperations::Unreachable(SteadyTime now, const Pending& pending) const {
  const bool timed_out = pending.may_end_here() && now >= pending.deadline.when();
  const std::string text = absl::StrCat(
      Describe(pending),
      timed_out ? absl::StrCat(" timed out after ",
                               absl::FormatDuration(pending.deadline.timeout()), "; it ")
                : " ",
      stream_.NotReachedSince(stream_.detached_since(), now),
      pending.may_end_here() ? "" : "; it may or may not have taken effect",
      "; check that musterd runs there");
  return WithExitCode(timed_out ? absl::DeadlineExceededError(text) : absl::UnavailableError(text),
                      kExitCoordinatorLost);
}

}  // namespace muster::internal
