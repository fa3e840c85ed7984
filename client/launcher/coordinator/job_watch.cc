#include "client/launcher/coordinator/job_watch.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/launcher/coordinator/coordinator_client.h"
#include "client/launcher/process/event_fd.h"
#include "common/process/start_thread.h"

namespace muster::launcher {
namespace {

using muster::v1::GetStatusResponse;

constexpr absl::Duration kAnswerTime = absl::Seconds(1);
constexpr absl::Duration kMinInterval = absl::Seconds(2);
constexpr absl::Duration kMaxInterval = absl::Minutes(1);
constexpr size_t kMaxOwn = 4096;  // as many as one call may name

// Limits the load of all nodes together to a twentieth of one of the coordinator's cores. A brief
// answer costs up to 200 microseconds.
absl::Duration Interval(const JobPlan& plan) {
  return std::clamp(absl::Milliseconds(4) * plan.nnodes, kMinInterval, kMaxInterval);
}

// Returns the interval for a coordinator without brief answers. Its answers cost microseconds for
// each rank.
absl::Duration WholeStatusInterval(const JobPlan& plan) {
  const absl::Duration fair = absl::Microseconds(50) * plan.nnodes * plan.world_size();
  return std::clamp(fair, kMinInterval, kMaxInterval);
}

}  // namespace

struct JobWatch::State {
  State(const JobPlan& plan, std::shared_ptr<ClientGroup> clients)
      : address(plan.coordinator.ToString()),
        credentials(plan.credentials),
        job(plan.job),
        group(std::move(clients)),
        brief_interval(Interval(plan)),
        whole_interval(WholeStatusInterval(plan)),
        interval(brief_interval) {}

  bool IsOwn(const std::string& incarnation) const {
    return std::find(own.begin(), own.end(), incarnation) != own.end();
  }

  // Updates the state from the coordinator's answer.
  void Note(const GetStatusResponse& status) {
    interval = status.brief() ? brief_interval : whole_interval;
    if (status.job_id() != job) return;
    const bool ours = std::any_of(
        status.members().begin(), status.members().end(),
        [this](const auto& m) { return m.has_rank() && IsOwn(m.member().incarnation()); });
    formed |= ours;
    if (status.state() != muster::v1::JOB_STATE_FAILED) return;
    failed = ours || !status.has_epoch();
    reason = status.reason();
  }

  EventFd has_failed;
  const std::string address;
  const CredentialFiles credentials;
  const std::string job;
  const std::shared_ptr<ClientGroup> group;
  const absl::Duration brief_interval;
  const absl::Duration whole_interval;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex:
  absl::Duration interval;
  std::vector<std::string> own;  // the latest last
  bool formed = false;           // some of them have had ranks
  bool failed = false;
  std::string reason;
  bool stopped = false;
};

JobWatch::JobWatch(const JobPlan& plan, std::shared_ptr<ClientGroup> group)
    : state_(std::make_shared<State>(plan, std::move(group))),
      started_(StartDetachedThread("watch the job", [state = state_] { Run(state); })) {}

JobWatch::~JobWatch() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->stopped = true;
  state_->changed.notify_all();
}

// Launchers on other nodes may be older and poll with whole answers.
absl::Duration JobWatch::Delay(const JobPlan& plan) {
  return std::max(Interval(plan), WholeStatusInterval(plan)) + kAnswerTime;
}

void JobWatch::AddOwn(const std::string& incarnation) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  std::vector<std::string>& own = state_->own;
  own.push_back(incarnation);
  if (own.size() > kMaxOwn) own.erase(own.begin());
}

int JobWatch::fd() const { return state_->has_failed.fd(); }

bool JobWatch::formed() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->formed;
}

std::string JobWatch::reason() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->reason;
}

void JobWatch::Run(const std::shared_ptr<State>& state) {
  CoordinatorClient client(state->address, state->credentials, state->group);
  std::unique_lock<std::mutex> lock(state->mutex);
  while (true) {
    state->changed.wait_for(lock, absl::ToChronoMilliseconds(state->interval),
                            [&] { return state->stopped; });
    if (state->stopped) return;
    const std::vector<std::string> own = state->own;
    lock.unlock();
    // Waits for the connection. gRPC only completes a connection attempt while a call is in flight,
    // and without waiting, each call would fail at once after the last attempt has failed. An error
    // is not an answer: the coordinator may be restarting.
    const absl::StatusOr<GetStatusResponse> status = client.GetBriefStatus(own, kCallTimeout);
    lock.lock();
    if (status.ok()) state->Note(*status);
    if (!state->failed) continue;
    state->has_failed.Set();
    return;
  }
}

}  // namespace muster::launcher
