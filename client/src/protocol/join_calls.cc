#include "client/src/protocol/join_calls.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/src/base/error_note.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::internal {
namespace {

absl::Status CheckPlace(const PendingCall& call, const v1::JoinResponse& place) {
  if (place.rank() < static_cast<uint32_t>(place.roster_size())) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call.what, ": the coordinator gave rank ", place.rank(),
                                          " of ", place.roster_size()));
}

// Returns what a Join waited for. A coordinator's text begins with the job, which the caller names
// already, and says how long the wait was.
std::string WaitForMembers(const std::string& job, const absl::Status& timeout) {
  absl::string_view text = timeout.message();
  absl::ConsumePrefix(&text, absl::StrCat("job '", job, "': "));
  return absl::StrCat(absl::StartsWith(text, "waited ") ? "" : "waiting for members: ", text);
}

}  // namespace

JoinCalls::JoinCalls(const MemberOptions& options, MemberEpochs* epochs, MemberLifecycle* lifecycle,
                     PendingCalls* calls, GroupReleaseReporter* releases, CommitReporter* commits,
                     NodeFanIn* fan_in, MemberOutbox* outbox)
    : options_(options),
      epochs_(*epochs),
      lifecycle_(*lifecycle),
      calls_(*calls),
      releases_(*releases),
      commits_(*commits),
      fan_in_(*fan_in),
      outbox_(*outbox) {}

void JoinCalls::Join(SteadyTime now, CallId id, const JobOptions& options,
                     const Deadline& deadline) {
  PendingCall call(absl::StrCat("joining job '", options.job, "'"), deadline, now);
  call.request = [this, options](SteadyTime) { return MakeJoin(options, options_.fingerprint); };
  call.on_end = [this](const PendingCall& ended, auto* reply) { FinishJoin(ended, reply); };
  calls_.Begin(id, std::move(call));
}

void JoinCalls::FinishJoin(const PendingCall& call, absl::StatusOr<Response>* reply) {
  if (absl::IsDeadlineExceeded(reply->status()) && call.sends > 0) {
    *reply =
        Reworded(reply->status(),
                 absl::StrCat(call.what, ": ", WaitForMembers(options_.job_id, reply->status())));
  }
  // Two processes ask for one place. They will again when they are restarted, so the configuration
  // is wrong.
  if (absl::IsAlreadyExists(reply->status())) {
    *reply = WithExitCode(reply->status(), kExitBadConfiguration);
  }
  if (reply->ok()) TakePlace(call, reply);
}

void JoinCalls::TakePlace(const PendingCall& call, absl::StatusOr<Response>* reply) {
  const auto& place = std::get<v1::JoinResponse>(**reply);
  if (absl::Status valid = CheckPlace(call, place); !valid.ok()) {
    *reply = valid;
    return;
  }
  if (place.stop_asked()) lifecycle_.NoteStopRequest();
  epochs_.Entered(call.ended, place);
  releases_.Reset();
  commits_.Reset();
  fan_in_.Enter();
  outbox_.NoteStateChange();
}

absl::Status JoinCalls::Rejoin(SteadyTime now, CallId id, const EpochId& epoch,
                               const Deadline& deadline,
                               std::function<v1::Claim(SteadyTime now)> claim) {
  if (lifecycle_.rejoining() || !epochs_.IsIn(epoch)) {
    return absl::FailedPreconditionError(absl::StrCat(
        lifecycle_.Describe(), " is already rejoining in another thread; only one thread may"));
  }
  lifecycle_.BeginRejoining();
  calls_.LeaveRounds();  // a late answer of a round must not contradict the claim
  PendingCall call(absl::StrCat("rejoining job '", options_.job_id, "'"), deadline, now);
  call.leads_on = true;
  call.request = [claim = std::move(claim)](SteadyTime at) { return MakeRejoin(claim(at)); };
  call.on_end = [this](const PendingCall& ended, auto* reply) { FinishRejoin(ended, reply); };
  calls_.Begin(id, std::move(call));
  return absl::OkStatus();
}

void JoinCalls::FinishRejoin(const PendingCall& call, absl::StatusOr<Response>* reply) {
  lifecycle_.EndRejoining();
  if (!reply->ok()) return;
  *reply = Response(PlaceOf(std::get<v1::RejoinResponse>(**reply)));
  TakePlace(call, reply);
}

}  // namespace muster::internal
