#include "client/src/control_plane/serial_control_plane.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/src/base/cancel_watch.h"
#include "client/src/base/checks.h"
#include "client/src/base/steady_clock.h"
#include "client/src/environment/identity.h"
#include "client/src/protocol/member_lifecycle.h"

namespace muster::internal {
namespace {

Member TheMember(const JobOptions& options) {
  Member member;
  member.node_id = options.node_id.empty() ? DefaultNodeId() : options.node_id;
  member.hostname = Hostname();
  member.pid = getpid();
  return member;
}

}  // namespace

SerialControlPlane::SerialControlPlane(const JobOptions& options)
    : job_id_(options.job),
      default_timeout_(options.timeout),
      members_{TheMember(options)},
      store_(std::make_shared<LocalStore>(options.job)) {}

size_t SerialControlPlane::max_name_bytes() const { return kDefaultMaxNameBytes; }

absl::StatusOr<std::vector<std::string>> SerialControlPlane::RunCollective(
    const std::string& group, const std::vector<int>& ranks, CollectiveCall call,
    const CallOptions& options) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = CheckMember(); !status.ok()) return status;
  if (group.empty()) stop_requested_ = stop_asked_;
  std::vector<std::string> payloads;
  if (call.kind != CollectiveKind::kBarrier) payloads.push_back(std::move(call.payload));
  return payloads;
}

absl::StatusOr<LeaseOutcome> SerialControlPlane::AcquireLease(const std::string& name,
                                                              LeaseScope scope,
                                                              const CallOptions& options) {
  bool cancelled = false;  // guarded by mutex_
  CancelWatch watch(options.cancellation, [&] {
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled = true;
    changed_.notify_all();
  });
  std::unique_lock<std::mutex> lock(mutex_);
  if (absl::Status status = CheckMember(); !status.ok()) return status;
  WorkState& work = work_[{name, scope}];
  const SteadyTime until = After(SteadyClock::now(), *options.timeout);
  const bool in_time =
      changed_.wait_until(lock, until, [&] { return !work.held || cancelled || !health_.ok(); });
  if (cancelled) return absl::CancelledError(absl::StrCat("waiting for lease '", name, "'"));
  if (!health_.ok()) return health_;
  if (!in_time) {
    return absl::DeadlineExceededError(
        absl::StrCat("lease '", name, "': timed out after ", absl::FormatDuration(*options.timeout),
                     "; another thread of this process (rank 0, pid ", getpid(), ") holds it"));
  }
  if (work.completed) return LeaseOutcome{false, work.token, work.result};
  work.held = true;
  work.token = NextToken();
  return LeaseOutcome{true, work.token, HeldResult(name)};
}

absl::Status SerialControlPlane::CompleteLease(const std::string& name, LeaseScope scope,
                                               uint64_t token,
                                               const absl::StatusOr<std::string>& outcome) {
  std::lock_guard<std::mutex> lock(mutex_);
  WorkState& work = work_[{name, scope}];
  work.held = false;
  changed_.notify_all();
  if (!health_.ok()) return health_;
  work.completed = true;
  work.result = outcome;
  return absl::OkStatus();
}

void SerialControlPlane::ReleaseLease(const std::string& name, LeaseScope scope, uint64_t token) {
  std::lock_guard<std::mutex> lock(mutex_);
  work_[{name, scope}].held = false;
  changed_.notify_all();
}

absl::Status SerialControlPlane::Leave(const CallOptions& options) {
  std::lock_guard<std::mutex> lock(mutex_);
  left_ = true;
  store_->Close(LeftError(job_id_, 0));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ControlPlane>> SerialControlPlane::Rejoin(
    const CallOptions& options) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = CheckMember(); !status.ok()) return status;
  return nullptr;
}

absl::Status SerialControlPlane::RequestStop(const CallOptions& options) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = CheckMember(); !status.ok()) return status;
  stop_asked_ = true;
  return absl::OkStatus();
}

bool SerialControlPlane::stop_requested() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stop_requested_;
}

absl::Status SerialControlPlane::health() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return health_;
}

absl::Status SerialControlPlane::AwaitFailure(absl::Duration timeout) const {
  const SteadyTime until = After(SteadyClock::now(), timeout);
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_until(lock, until, [this] { return !health_.ok(); });
  return health_;
}

Subscription SerialControlPlane::OnFailure(std::function<void(const absl::Status&)> callback) {
  return failure_->Add(std::move(callback));
}

void SerialControlPlane::Close() {
  const absl::Status destroyed =
      absl::CancelledError(absl::StrCat("job '", job_id_, "': the Job was destroyed"));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    health_ = destroyed;
    changed_.notify_all();
  }
  store_->Close(destroyed);
  failure_->Notify(destroyed);
}

absl::Status SerialControlPlane::CheckMember() const {
  if (!health_.ok()) return health_;
  return left_ ? LeftError(job_id_, 0) : absl::OkStatus();
}

uint64_t SerialControlPlane::NextToken() {
  const uint64_t now = static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixMicros(absl::Now())));
  highest_token_ = std::max(highest_token_, now) + 1;
  return highest_token_;
}

}  // namespace muster::internal
