#include "client/src/protocol/store/store_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/src/protocol/messages/transport_error.h"

namespace muster::internal {
namespace {

// Returns whether a stream that ended with this status is worth reopening, since the status says
// nothing about this client. OK means that the daemon ends. DEADLINE_EXCEEDED can only come from a
// proxy, because the stream has no deadline. RESOURCE_EXHAUSTED may pass.
bool MayReopen(const absl::Status& status) {
  return status.ok() || IsTransportError(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

// Returns the error that the program gets when a stream ends for good.
absl::Status Refusal(const StoreClientOptions& options, const absl::Status& status) {
  const std::string where =
      absl::StrCat("job '", options.job_id, "': the store at ", options.coordinator, ": ");
  if (absl::IsUnimplemented(status)) {
    return absl::FailedPreconditionError(
        absl::StrCat(where, "this musterd has no store; install a release that has one"));
  }
  return absl::Status(status.code(), absl::StrCat(where, status.message()));
}

}  // namespace

StoreStream::StoreStream(const StoreClientOptions& options, StoreOutbox* outbox)
    : options_(options), outbox_(*outbox) {}

void StoreStream::Open(SteadyTime now) {
  if (attempt_ == 0) detached_since_ = now;
  ++attempt_;
  in_progress_ = true;
  opened_ = false;
  progressed_ = false;
  reopen_at_.reset();
  outbox_.Add(OpenStoreStream{attempt_});
}

void StoreStream::Send(v1::StoreRequest message) {
  outbox_.Add(SendToStore{attempt_, std::move(message)});
}

void StoreStream::TakeOpened(SteadyTime now, const v1::StoreOpened& opened) {
  opened_ = true;
  opened_at_ = now;
  limits_ = opened;
  last_error_.clear();
  if (!std::exchange(trouble_logged_, false)) return;
  Warn(absl::StrCat(
      "reached the coordinator at ", options_.coordinator, " again",
      opened.recovering() ? "; it was restarted and waits for the store's other clients" : ""));
}

bool StoreStream::TakeEnd(SteadyTime now, uint64_t attempt, const absl::Status& status) {
  if (!IsLatest(attempt)) return false;
  last_error_ = status.ok() ? "the coordinator ended the stream" : std::string(status.message());
  if (!MayReopen(status)) {
    in_progress_ = false;
    final_status_ = Refusal(options_, status);
    return true;
  }
  if (opened_) trouble_logged_ = false;
  if (!std::exchange(trouble_logged_, true)) {
    Warn(absl::StrCat(opened_ ? "lost the connection to" : "cannot reach", " the coordinator at ",
                      options_.coordinator, ", trying again: ", last_error_));
  }
  ReopenSoon(now);
  return true;
}

void StoreStream::Restart(SteadyTime now, const std::string& why) {
  outbox_.Add(CancelStoreStream{attempt_});
  Warn(absl::StrCat("begins another stream to the coordinator at ", options_.coordinator, ": ",
                    why));
  ReopenSoon(now);
}

void StoreStream::ReopenSoon(SteadyTime now) {
  constexpr absl::Duration kLong = absl::Seconds(1);
  in_progress_ = false;
  if (opened_ && (progressed_ || Between(opened_at_, now) >= kLong)) {
    backoff_.Reset();
    detached_since_ = now;
  }
  opened_ = false;
  reopen_at_ = After(now, backoff_.Next(options_.random));
}

void StoreStream::Leave() {
  reopen_at_.reset();
  if (!in_progress_) return;
  outbox_.Add(opened_ ? StoreOutput(LeaveStoreStream{attempt_})
                      : StoreOutput(CancelStoreStream{attempt_}));
  in_progress_ = false;
}

void StoreStream::Warn(const std::string& text) {
  outbox_.Add(WarnOfStore{absl::StrCat("job '", options_.job_id, "': the store ", text)});
}

std::string StoreStream::NotReachedSince(SteadyTime since, SteadyTime now) const {
  return absl::StrCat("could not reach the coordinator at ", options_.coordinator, " for ",
                      absl::FormatDuration(Rounded(Between(since, now))),
                      " (last error: ", last_error_.empty() ? "no answer" : last_error_, ")");
}

}  // namespace muster::internal
