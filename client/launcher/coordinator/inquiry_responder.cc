#include "client/launcher/coordinator/inquiry_responder.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/coordinator/coordinator_client.h"
#include "client/launcher/plan/node_name.h"
#include "client/launcher/process/event_fd.h"
#include "client/observe/idle_sampler.h"
#include "common/credentials/random_bytes.h"
#include "common/process/start_thread.h"

namespace muster::launcher {
namespace {

using muster::v1::GetInquiryRequest;
using muster::v1::GetInquiryResponse;
using muster::v1::Inquiry;
using muster::v1::ReportInquiryRequest;

// How long one GetInquiry call waits. Between calls, the thread notes which ranks stand still.
constexpr absl::Duration kWait = absl::Seconds(5);
constexpr std::chrono::seconds kRetryPause{1};
constexpr size_t kIdBytes = 16;

}  // namespace

struct InquiryResponder::State {
  State(const JobPlan& plan, std::shared_ptr<ClientGroup> clients,
        std::shared_ptr<const OutputTails> output_tails)
      : address(plan.coordinator.ToString()),
        credentials(plan.credentials),
        job(plan.job),
        group(std::move(clients)),
        tails(std::move(output_tails)) {
    launcher.set_id(RandomBytes(kIdBytes));
    launcher.set_node(NodeNameOf(plan));
    launcher.set_pid(getpid());
  }

  std::vector<WatchedRank> Ranks() {
    const std::lock_guard<std::mutex> lock(mutex);
    return ranks;
  }
  std::vector<WatchedRank> Ended() {
    const std::lock_guard<std::mutex> lock(mutex);
    return ended;
  }
  bool Stopped() {
    const std::lock_guard<std::mutex> lock(mutex);
    return stopped;
  }
  void Pause() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait_for(lock, kRetryPause, [this] { return stopped; });
  }
  void AddMessage(std::string line) {
    const std::lock_guard<std::mutex> lock(mutex);
    messages.push_back(std::move(line));
    has_messages.Set();
  }

  std::vector<pid_t> Pids();
  // Returns this launcher's identity, with the secrets of its living ranks.
  muster::v1::LauncherIdentity Identity();
  absl::StatusOr<Inquiry> Await(CoordinatorClient* client, absl::Duration wait);
  // Inspects the ranks and returns the report.
  ReportInquiryRequest Inspect(const Inquiry& inquiry);

  EventFd has_messages;
  const std::string address;
  const CredentialFiles credentials;
  const std::string job;
  const std::shared_ptr<ClientGroup> group;
  const std::shared_ptr<const OutputTails> tails;
  muster::v1::LauncherIdentity launcher;
  // Used by the thread only:
  uint64_t last = 0;
  observe::IdleSampler idle_sampler;
  std::shared_ptr<RankInspection> inspection;  // the latest

  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex:
  std::vector<WatchedRank> ranks;
  std::vector<WatchedRank> ended;
  std::vector<std::string> messages;
  bool stopped = false;
};

std::vector<pid_t> InquiryResponder::State::Pids() {
  std::vector<pid_t> pids;
  for (const WatchedRank& rank : Ranks()) pids.push_back(rank.pid);
  return pids;
}

muster::v1::LauncherIdentity InquiryResponder::State::Identity() {
  muster::v1::LauncherIdentity identity = launcher;
  for (const WatchedRank& rank : Ranks()) identity.add_process_secrets(rank.secret);
  return identity;
}

absl::StatusOr<Inquiry> InquiryResponder::State::Await(CoordinatorClient* client,
                                                       absl::Duration wait) {
  GetInquiryRequest request;
  request.set_job_id(job);
  request.set_without_reports(true);
  request.set_after(last);
  request.mutable_wait_timeout()->set_seconds(absl::ToInt64Seconds(wait));
  *request.mutable_launcher() = Identity();
  absl::StatusOr<GetInquiryResponse> response = client->GetInquiry(request, wait + kCallTimeout);
  if (!response.ok()) return response.status();
  return response->inquiry();
}

ReportInquiryRequest InquiryResponder::State::Inspect(const Inquiry& inquiry) {
  inspection = std::make_shared<RankInspection>(Ranks(), tails, inspection.get());
  ReportInquiryRequest report;
  report.set_job_id(job);
  report.set_number(inquiry.number());
  *report.mutable_launcher() = Identity();
  for (auto& observation : inspection->Observe(idle_sampler.tracker()))
    *report.add_ranks() = std::move(observation);
  for (const WatchedRank& rank : Ended()) *report.add_ranks() = EndedRank(rank);
  return report;
}

// Reports now what the verdict needs. Slow files are left to the gatherer, so that this thread can
// answer the next inquiry.
void InquiryResponder::Answer(State* state, InquiryGatherer* gatherer,
                              const std::shared_ptr<CoordinatorClient>& client,
                              const Inquiry& inquiry) {
  const bool gathers = gatherer->Reserve(inquiry);
  ReportInquiryRequest report = state->Inspect(inquiry);
  // A report is complete if no files will follow.
  report.set_complete(!gathers || !inquiry.wants_files());
  SendReport(client.get(), report, {});
  if (gathers) gatherer->Start({client, state->inspection, inquiry, std::move(report)});
}

InquiryResponder::InquiryResponder(const JobPlan& plan, std::shared_ptr<ClientGroup> group,
                                   std::shared_ptr<const OutputTails> tails)
    : state_(std::make_shared<State>(plan, std::move(group), std::move(tails))),
      gatherer_(std::make_shared<InquiryGatherer>(
          plan.debug_dir,
          [state = state_](std::string line) { state->AddMessage(std::move(line)); })) {
  const auto run = [state = state_, gatherer = gatherer_] { Run(state.get(), gatherer.get()); };
  const absl::Status started = StartDetachedThread("look into hangs", run);
  if (started.ok()) return;
  state_->AddMessage(
      absl::StrCat("cannot inspect this node's ranks when the job hangs: ", started.message()));
}

InquiryResponder::~InquiryResponder() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->stopped = true;
  state_->changed.notify_all();
}

void InquiryResponder::SetRanks(std::vector<WatchedRank> living, std::vector<WatchedRank> ended) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->ranks = std::move(living);
  state_->ended = std::move(ended);
}

int InquiryResponder::fd() const { return state_->has_messages.fd(); }

bool InquiryResponder::writing() const { return gatherer_->writing(); }

std::vector<std::string> InquiryResponder::TakeMessages() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->has_messages.Clear();
  return std::exchange(state_->messages, {});
}

void InquiryResponder::Run(State* state, InquiryGatherer* gatherer) {
  const auto client =
      std::make_shared<CoordinatorClient>(state->address, state->credentials, state->group);
  while (!state->Stopped()) {
    state->idle_sampler.Sample(state->Pids());
    const absl::StatusOr<Inquiry> inquiry = state->Await(client.get(), kWait);
    if (absl::IsUnimplemented(inquiry.status())) return;  // an older coordinator
    if (!inquiry.ok()) {
      state->Pause();
      continue;
    }
    if (inquiry->number() == state->last) continue;
    state->last = inquiry->number();
    // An inquiry that has ended needs no more reports.
    if (inquiry->open()) Answer(state, gatherer, client, *inquiry);
  }
}

}  // namespace muster::launcher
