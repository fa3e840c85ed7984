#include "muster/job.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/checks.h"
#include "client/src/control_plane.h"
#include "client/src/door.h"
#include "client/src/lease_state.h"
#include "client/src/live_jobs.h"
#include "client/src/remote_join.h"
#include "client/src/serial_control_plane.h"

namespace muster {
namespace {

Group MakeGroup(internal::ControlPlane* control, std::string name, std::vector<int> ranks,
                const std::atomic<int>* block_preventions) {
  auto state = std::make_shared<internal::GroupState>();
  const auto own = std::find(ranks.begin(), ranks.end(), control->rank());
  state->control = control;
  state->name = std::move(name);
  state->rank = static_cast<int>(own - ranks.begin());
  state->ranks = std::move(ranks);
  state->block_preventions = block_preventions;
  return Group(std::move(state));
}

Group MakeWorld(internal::ControlPlane* control, const std::atomic<int>* block_preventions) {
  std::vector<int> ranks;
  for (const Member& member : control->members()) ranks.push_back(member.rank);
  return MakeGroup(control, "", std::move(ranks), block_preventions);
}

absl::Status BadRanks(absl::string_view name, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("group '", name, "' ", why));
}

absl::Status CheckRanks(absl::string_view name, const std::vector<int>& ranks, int world_size,
                        int own) {
  if (ranks.empty()) return BadRanks(name, "has no ranks; expected at least the caller's own");
  std::set<int> seen;
  for (const int rank : ranks) {
    if (rank < 0 || rank >= world_size) {
      return BadRanks(name,
                      absl::StrCat("names rank ", rank, ", which is out of range: the job has ",
                                   world_size, " ranks, 0 to ", world_size - 1));
    }
    if (!seen.insert(rank).second)
      return BadRanks(name, absl::StrCat("names rank ", rank, " twice"));
  }
  if (seen.count(own) != 0) return absl::OkStatus();
  return BadRanks(name, absl::StrCat("(ranks ", absl::StrJoin(ranks, ","), ") is without rank ",
                                     own, ", which asks for it; only its members create a group"));
}

absl::Status RefuseSerial(const JobOptions& options) {
  if (options.world_size.value_or(1) == 1 && options.rank.value_or(0) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "job '", options.job, "': rank ", options.rank.value_or(0), " of ",
      options.world_size ? absl::StrCat(*options.world_size) : "?",
      " was asked for, but no coordinator is named, and without one each process would run alone; "
      "set JobOptions::coordinator (MUSTER_COORDINATOR)"));
}

absl::StatusOr<std::unique_ptr<internal::ControlPlane>> Connect(const JobOptions& options,
                                                                Cancellation* cancellation) {
  if (!options.coordinator.empty()) return internal::JoinRemote(options, cancellation);
  if (absl::Status status = RefuseSerial(options); !status.ok()) return status;
  return std::make_unique<internal::SerialControlPlane>(options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Job>> Job::Join(absl::StatusOr<JobOptions> options,
                                               Cancellation* cancellation) {
  if (!options.ok()) return options.status();
  if (absl::Status status = options->Validate(); !status.ok()) return status;
  auto control = Connect(*options, cancellation);
  if (!control.ok()) return control.status();
  return std::make_unique<Job>(*std::move(control));
}

struct Job::Epoch {
  Epoch(std::unique_ptr<internal::ControlPlane> c, const std::atomic<int>* block_preventions)
      : control(std::move(c)), world(MakeWorld(control.get(), block_preventions)) {}

  std::unique_ptr<internal::ControlPlane> control;
  const Group world;
  absl::Mutex mutex;
  std::map<std::string, Group> groups ABSL_GUARDED_BY(mutex);
};

Job::Job(std::unique_ptr<internal::ControlPlane> control) {
  Enter(std::move(control));
  internal::AddLiveJob(this);
}

Job::~Job() {
  internal::RemoveLiveJob(this);
  if (control().CheckProcess().ok()) return;
  // In a fork there are no threads to join, and the connection is the parent's.
  absl::MutexLock lock(&mutex_);
  for (const auto& epoch : epochs_) static_cast<void>(epoch->control.release());
  new std::shared_ptr<void>(std::move(helpers_));  // never destroyed
}

void Job::Enter(std::unique_ptr<internal::ControlPlane> control) {
  absl::MutexLock lock(&mutex_);
  epochs_.push_back(std::make_unique<Epoch>(std::move(control), &block_preventions_));
  current_.store(epochs_.back().get(), std::memory_order_release);
}

internal::ControlPlane& Job::control() const { return *current().control; }

absl::Status Job::Rejoin(const CallOptions& options) {
  internal::ControlPlane& old = control();
  absl::StatusOr<CallOptions> admitted = internal::Admit(old, options);
  if (!admitted.ok()) return admitted.status();
  auto next = old.Rejoin(*admitted);
  if (!next.ok()) return next.status();
  if (*next != nullptr) Enter(*std::move(next));
  return absl::OkStatus();
}

uint64_t Job::epoch() const { return control().epoch(); }
int Job::NewcomersWaiting() const { return control().newcomers_waiting(); }
Subscription Job::OnNewcomers(std::function<void()> callback) const {
  return control().OnNewcomers(std::move(callback));
}

absl::Status Job::RequestStop(const CallOptions& options) {
  absl::StatusOr<CallOptions> admitted = internal::Admit(control(), options);
  if (!admitted.ok()) return admitted.status();
  return control().RequestStop(*admitted);
}

bool Job::StopRequested() const { return control().stop_requested(); }

absl::Status Job::Leave(const CallOptions& options) {
  absl::StatusOr<CallOptions> admitted = internal::Admit(control(), options);
  if (!admitted.ok()) return admitted.status();
  absl::Status left = control().Leave(*admitted);
  if (left.ok()) internal::RemoveLiveJob(this);
  return left;
}

int Job::local_world_size() const {
  return static_cast<int>(
      std::count_if(members().begin(), members().end(),
                    [this](const Member& member) { return member.node_rank == node_rank(); }));
}

int Job::num_nodes() const {
  int last = 0;
  for (const Member& member : members()) last = std::max(last, member.node_rank);
  return last + 1;
}

bool Job::is_distributed() const { return control().is_distributed(); }
const std::string& Job::id() const { return control().job_id(); }
const Group& Job::world() const { return current().world; }
const std::vector<Member>& Job::members() const { return control().members(); }
const Member& Job::self() const {
  const internal::ControlPlane& now = control();
  return now.members()[now.rank()];
}

absl::StatusOr<Group> Job::NewGroup(absl::string_view name, const std::vector<int>& ranks) {
  Epoch& epoch = current();
  internal::ControlPlane& control = *epoch.control;
  if (absl::Status status = control.CheckProcess(); !status.ok()) return status;
  absl::Status status = internal::CheckName("group name", name, control.max_name_bytes());
  status.Update(CheckRanks(name, ranks, epoch.world.size(), control.rank()));
  if (!status.ok()) return status;
  absl::MutexLock lock(&epoch.mutex);
  const auto known = epoch.groups.find(std::string(name));
  if (known == epoch.groups.end()) {
    Group group = MakeGroup(&control, std::string(name), ranks, &block_preventions_);
    return epoch.groups.emplace(name, std::move(group)).first->second;
  }
  if (known->second.ranks() == ranks) return known->second;
  return BadRanks(name,
                  absl::StrCat("exists with ranks ", absl::StrJoin(known->second.ranks(), ","),
                               "; ranks ", absl::StrJoin(ranks, ","),
                               " overlap with it: groups of one name must be the same list or "
                               "share no rank"));
}

absl::StatusOr<Lease> Job::AcquireLease(absl::string_view name, LeaseScope scope,
                                        const CallOptions& options) {
  internal::ControlPlane& control = this->control();
  absl::StatusOr<CallOptions> admitted = internal::Admit(control, options);
  if (!admitted.ok()) return admitted.status();
  absl::Status named = internal::CheckName("lease name", name, control.max_name_bytes());
  if (!named.ok()) return named;
  auto outcome = control.AcquireLease(std::string(name), scope, *admitted);
  if (!outcome.ok()) return outcome.status();
  auto state = std::make_unique<Lease::State>();
  state->control = &control;
  state->name = std::string(name);
  state->scope = scope;
  state->open = outcome->held;
  state->outcome = *std::move(outcome);
  return Lease(std::move(state));
}

absl::Status Job::health() const { return control().health(); }

absl::Status Job::AwaitFailure(absl::Duration timeout) const {
  return control().AwaitFailure(timeout);
}

Subscription Job::OnFailure(std::function<void(const absl::Status&)> callback) const {
  return control().OnFailure(std::move(callback));
}

}  // namespace muster
