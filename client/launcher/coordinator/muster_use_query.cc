#include "client/launcher/coordinator/muster_use_query.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/launcher/coordinator/coordinator_client.h"
#include "client/launcher/process/event_fd.h"
#include "common/process/start_thread.h"

namespace muster::launcher {
namespace {

using muster::v1::GetStatusResponse;

// The timeout of each of the two calls. A failed rank waits for them before it is restarted.
constexpr absl::Duration kPatience = absl::Seconds(2);
// Members reconnect to a restarted coordinator within this time.
constexpr absl::Duration kReturn = absl::Minutes(1);

bool HasMembers(const GetStatusResponse& status) {
  return status.has_epoch() || status.members_size() > 0 ||
         status.state() != muster::v1::JOB_STATE_FORMING;
}

absl::Duration UptimeOf(const GetStatusResponse& status) {
  return absl::Seconds(status.uptime().seconds()) + absl::Nanoseconds(status.uptime().nanos());
}

// The brief answer has no uptime. The whole answer is small if no process has joined.
std::optional<bool> Query(CoordinatorClient* client, const std::string& job,
                          const std::vector<std::string>& incarnations, absl::Duration age) {
  const absl::StatusOr<GetStatusResponse> brief = client->GetBriefStatus(incarnations, kPatience);
  if (!brief.ok()) return std::nullopt;
  if (HasMembers(*brief)) return true;
  const absl::StatusOr<GetStatusResponse> whole =
      client->GetStatus(kPatience, /*wait_for_connection=*/true, job);
  if (!whole.ok()) return std::nullopt;
  if (HasMembers(*whole)) return true;
  if (UptimeOf(*whole) < std::min(age, kReturn)) return std::nullopt;
  return false;
}

}  // namespace

struct MusterUseQuery::State {
  void Finish(std::optional<bool> result) {
    const std::lock_guard<std::mutex> lock(mutex);
    answer = result;
    done = true;
    is_done.Set();
  }

  EventFd is_done;
  mutable std::mutex mutex;
  // Guarded by mutex:
  bool done = false;
  std::optional<bool> answer;
};

MusterUseQuery::MusterUseQuery(const JobPlan& plan, std::shared_ptr<ClientGroup> group,
                               std::vector<std::string> incarnations, absl::Duration age)
    : state_(std::make_shared<State>()) {
  const auto ask = [state = state_, address = plan.coordinator.ToString(),
                    credentials = plan.credentials, job = plan.job, group = std::move(group),
                    incarnations = std::move(incarnations), age] {
    CoordinatorClient client(address, credentials, group);
    state->Finish(Query(&client, job, incarnations, age));
  };
  if (!StartDetachedThread("ask whether the job uses Muster", ask).ok()) {
    state_->Finish(std::nullopt);
  }
}

MusterUseQuery::~MusterUseQuery() = default;

int MusterUseQuery::fd() const { return state_->is_done.fd(); }

bool MusterUseQuery::done() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->done;
}

std::optional<bool> MusterUseQuery::answer() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->answer;
}

}  // namespace muster::launcher
