#include "client/launcher/coordinator/rank_reporter.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/coordinator/coordinator_client.h"
#include "client/launcher/plan/node_name.h"
#include "client/launcher/process/event_fd.h"
#include "common/credentials/process_secret.h"
#include "common/process/start_thread.h"

namespace muster::launcher {
namespace {

constexpr absl::Duration kReportTimeout = absl::Seconds(1);
// Timeout of the last attempt. It is longer because on a busy machine a second can pass before the
// call is even sent, and other nodes would wait for ranks whose end is never reported.
constexpr absl::Duration kLastCallTimeout = absl::Seconds(4);
constexpr std::chrono::milliseconds kReportPause{50};  // five seconds for kTries in all
constexpr int kTries = 100;

struct Stopped {
  bool stopped = false;
};

struct End {
  pid_t pid = -1;
  std::optional<ProcessEnd> end;  // unset if the process was never started
  std::string given_up;
};

struct Report {
  std::string secret;
  std::variant<End, Stopped> what;
  int tries = 0;
};

// Returns whether to retry. Includes timeouts, which are common on a machine that is so busy that
// it kills ranks.
bool NotDelivered(const absl::Status& sent) {
  return absl::IsUnavailable(sent) || absl::IsDeadlineExceeded(sent);
}

}  // namespace

struct RankReporter::State {
  State(const JobPlan& plan, std::shared_ptr<ClientGroup> clients)
      : address(plan.coordinator.ToString()),
        credentials(plan.credentials),
        job(plan.job),
        prints_losses(plan.hosted.has_value()),
        group(std::move(clients)) {}

  absl::Status Send(CoordinatorClient* client, const Report& report, absl::Duration timeout) {
    const auto* end = std::get_if<End>(&report.what);
    if (end == nullptr) {
      return client->ReportProcessState(job, report.secret, std::get<Stopped>(report.what).stopped,
                                        timeout);
    }
    const absl::StatusOr<muster::v1::ReportExitResponse> answer =
        client->ReportExit(job, report.secret, end->end, end->given_up, prints_losses, timeout);
    if (answer.ok() && !answer->loss().empty()) {
      const std::lock_guard<std::mutex> lock(mutex);
      losses.push_back({end->pid, answer->without_leave(), answer->loss()});
      has_losses.Set();
    }
    return answer.status();
  }

  void Add(Report report) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (stopped) return;
    reports.push_back(std::move(report));
    changed.notify_all();
  }

  const std::string address;
  const CredentialFiles credentials;
  const std::string job;
  const bool prints_losses;  // prints ends to where the coordinator's log goes
  const std::shared_ptr<ClientGroup> group;
  EventFd has_losses;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex:
  std::deque<Report> reports;  // the first one stays until it is answered or dropped
  std::vector<Loss> losses;
  bool last_try = false;
  bool stopped = false;
};

RankReporter::RankReporter(const JobPlan& plan, std::shared_ptr<ClientGroup> group)
    : state_(std::make_shared<State>(plan, std::move(group))),
      started_(StartDetachedThread("report how ranks end", [state = state_] { Run(state); })) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->stopped = !started_.ok();
}

RankReporter::~RankReporter() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->stopped = true;
  state_->changed.notify_all();
}

void RankReporter::ReportEnd(const std::string& secret, pid_t pid, const ProcessEnd& end,
                             const std::string& given_up) {
  state_->Add({secret, End{pid, end, given_up}});
}

void RankReporter::ReportNotStarted(const std::string& why) {
  state_->Add({NewProcessSecret(), End{-1, std::nullopt, why}});
}

void RankReporter::ReportStopped(const std::string& secret, bool stopped) {
  state_->Add({secret, Stopped{stopped}});
}

void RankReporter::ReportStarted(const std::string& secret) { ReportStopped(secret, false); }

int RankReporter::fd() const { return state_->has_losses.fd(); }

std::vector<RankReporter::Loss> RankReporter::TakeLosses() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->has_losses.Clear();
  return std::exchange(state_->losses, {});
}

void RankReporter::Flush() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->last_try = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, absl::ToChronoMilliseconds(kReportTimeout + kLastCallTimeout),
                           [this] { return state_->reports.empty(); });
}

void RankReporter::Run(const std::shared_ptr<State>& state) {
  CoordinatorClient client(state->address, state->credentials, state->group);
  client.Connect();
  std::unique_lock<std::mutex> lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->stopped || !state->reports.empty(); });
    if (state->stopped) return;
    const Report report = state->reports.front();
    const bool last_try = state->last_try;
    lock.unlock();
    const absl::Status sent =
        state->Send(&client, report, last_try ? kLastCallTimeout : kReportTimeout);
    lock.lock();
    if (NotDelivered(sent) && !last_try && ++state->reports.front().tries < kTries) {
      state->changed.wait_for(lock, kReportPause,
                              [&] { return state->stopped || state->last_try; });
      continue;
    }
    state->reports.pop_front();
    state->changed.notify_all();
  }
}

void ReportNotStarted(const JobPlan& plan, const std::string& why) {
  if (plan.nnodes == 1) return;
  RankReporter reporter(plan, nullptr);
  reporter.ReportNotStarted(absl::StrCat("node ", NodeNameOf(plan), ": ", why));
  reporter.Flush();
}

}  // namespace muster::launcher
