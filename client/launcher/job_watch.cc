#include "client/launcher/job_watch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/launcher/coordinator_client.h"

namespace muster::launcher {
namespace {

using muster::v1::GetStatusResponse;

constexpr absl::Duration kCallTimeout = absl::Seconds(10);
constexpr absl::Duration kAnswerTime = absl::Seconds(1);
constexpr absl::Duration kShortest = absl::Seconds(2);
constexpr absl::Duration kLongest = absl::Minutes(1);

// An answer costs the coordinator microseconds for each rank, and each node asks: together they
// must not keep it from its work.
absl::Duration Interval(const JobPlan& plan) {
  const absl::Duration fair = absl::Microseconds(50) * plan.nnodes * plan.world_size();
  return std::clamp(fair, kShortest, kLongest);
}

}  // namespace

struct JobWatch::State {
  explicit State(const JobPlan& plan)
      : fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        address(plan.coordinator.ToString()),
        credentials(plan.credentials),
        job(plan.job),
        interval(Interval(plan)) {}
  ~State() { close(fd); }

  // Takes what the coordinator says.
  void Note(const GetStatusResponse& status) {
    if (status.job_id() != job) return;
    const bool ours = std::any_of(
        status.members().begin(), status.members().end(),
        [this](const auto& m) { return m.has_rank() && own.count(m.member().incarnation()) > 0; });
    formed |= ours;
    if (status.state() != muster::v1::JOB_STATE_FAILED) return;
    failed = ours || !status.has_epoch();
    reason = status.reason();
  }

  const int fd;
  const std::string address;
  const CredentialFiles credentials;
  const std::string job;
  const absl::Duration interval;
  std::mutex mutex;
  std::condition_variable changed;
  // All below under the mutex.
  std::set<std::string> own;
  bool formed = false;  // some of them have had ranks
  bool failed = false;
  std::string reason;
  bool stopped = false;
};

JobWatch::JobWatch(const JobPlan& plan) : state_(std::make_shared<State>(plan)) {
  std::thread([state = state_] { Run(state); }).detach();
}

JobWatch::~JobWatch() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->stopped = true;
  state_->changed.notify_all();
}

absl::Duration JobWatch::Delay(const JobPlan& plan) { return Interval(plan) + kAnswerTime; }

void JobWatch::AddOwn(const std::string& incarnation) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->own.insert(incarnation);
}

int JobWatch::fd() const { return state_->fd; }

bool JobWatch::formed() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->formed;
}

std::string JobWatch::reason() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->reason;
}

void JobWatch::Run(const std::shared_ptr<State>& state) {
  CoordinatorClient client(state->address, state->credentials);
  std::unique_lock<std::mutex> lock(state->mutex);
  while (true) {
    state->changed.wait_for(lock, absl::ToChronoMilliseconds(state->interval),
                            [&] { return state->stopped; });
    if (state->stopped) return;
    lock.unlock();
    // Without a call nobody completes a connection, and one that does not wait for that ends at
    // once where the last attempt has failed: again and again. An error is no answer: the
    // coordinator may be about to be started again.
    const absl::StatusOr<GetStatusResponse> status =
        client.GetStatus(kCallTimeout, /*wait_for_connection=*/true);
    lock.lock();
    if (status.ok()) state->Note(*status);
    if (!state->failed) continue;
    eventfd_write(state->fd, 1);
    return;
  }
}

}  // namespace muster::launcher
