#include "client/launcher/muster_use.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/launcher/coordinator_client.h"
#include "common/start_thread.h"

namespace muster::launcher {
namespace {

using muster::v1::GetStatusResponse;

// A failed rank waits for the answer before it is started again.
constexpr absl::Duration kPatience = absl::Seconds(2);

bool HasMembers(const GetStatusResponse& status) {
  return status.has_epoch() || status.members_size() > 0 ||
         status.state() != muster::v1::JOB_STATE_FORMING;
}

}  // namespace

struct MusterUse::State {
  State() : fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~State() { close(fd); }

  void Finish(std::optional<bool> result) {
    const std::lock_guard<std::mutex> lock(mutex);
    answer = result;
    done = true;
    eventfd_write(fd, 1);
  }

  const int fd;
  mutable std::mutex mutex;
  // Both under the mutex.
  bool done = false;
  std::optional<bool> answer;
};

MusterUse::MusterUse(const JobPlan& plan, std::shared_ptr<ClientGroup> group,
                     std::vector<std::string> incarnations)
    : state_(std::make_shared<State>()) {
  const auto ask = [state = state_, address = plan.coordinator.ToString(),
                    credentials = plan.credentials, job = plan.job, group = std::move(group),
                    incarnations = std::move(incarnations)] {
    CoordinatorClient client(address, credentials, group);
    const absl::StatusOr<GetStatusResponse> status = client.GetBriefStatus(incarnations, kPatience);
    // A coordinator of another job knows nothing of this one.
    const bool told = status.ok() && (status->job_id().empty() || status->job_id() == job);
    state->Finish(told ? std::optional<bool>(HasMembers(*status)) : std::nullopt);
  };
  if (!StartDetachedThread("ask whether the job uses Muster", ask).ok()) {
    state_->Finish(std::nullopt);
  }
}

MusterUse::~MusterUse() = default;

int MusterUse::fd() const { return state_->fd; }

bool MusterUse::done() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->done;
}

std::optional<bool> MusterUse::answer() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->answer;
}

}  // namespace muster::launcher
