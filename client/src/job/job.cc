#include "muster/job.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/base/checks.h"
#include "client/src/base/error_note.h"
#include "client/src/control_plane/connect.h"
#include "client/src/environment/unknown_variables.h"
#include "client/src/group/group_access.h"
#include "client/src/group/group_state.h"
#include "client/src/job/lease_state.h"
#include "client/src/job/live_jobs.h"
#include "client/src/job/second_join.h"
#include "client/src/job/split.h"
#include "common/names/operation_names.h"

namespace muster {
namespace {

using Control = std::shared_ptr<internal::ControlPlane>;
using Preventions = std::shared_ptr<const internal::BlockPreventions>;

Group MakeGroup(Control control, std::string name, std::vector<int> ranks, Preventions preventions,
                std::shared_ptr<internal::LowestGroupNumber> lowest_number = nullptr) {
  auto state = std::make_shared<internal::GroupState>();
  const auto own = std::find(ranks.begin(), ranks.end(), control->rank());
  state->control = std::move(control);
  state->name = std::move(name);
  state->rank = static_cast<int>(own - ranks.begin());
  state->ranks = std::move(ranks);
  state->block_preventions = std::move(preventions);
  if (lowest_number != nullptr) state->next_number = lowest_number->Get();
  state->lowest_number = std::move(lowest_number);
  if (!state->name.empty()) state->Hold();
  return Group(std::move(state));
}

Group MakeWorld(const Control& control, Preventions preventions) {
  std::vector<int> ranks;
  for (const Member& member : control->members()) ranks.push_back(member.rank);
  return MakeGroup(control, "", std::move(ranks), std::move(preventions));
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
  return BadRanks(
      name, absl::StrCat("(ranks ", absl::StrJoin(ranks, ","), ") does not include rank ", own,
                         ", which calls NewGroup(); only the members of a group create it"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Job>> Job::Join(absl::StatusOr<JobOptions> options,
                                               Cancellation* cancellation) {
  internal::WarnOfUnknownVariables();
  absl::Status valid = options.status();
  if (valid.ok()) valid = options->Validate();
  if (!valid.ok()) return internal::WithExitCode(valid, kExitBadConfiguration);
  if (absl::Status joined = internal::CheckNotJoined(*options); !joined.ok()) return joined;
  absl::StatusOr<Control> control = internal::Connect(*options, cancellation);
  if (!control.ok()) return internal::ExplainRefusedJoin(*options, control.status());
  auto job = std::make_unique<Job>(*std::move(control));
  internal::NoteCoordinator(job.get(), options->coordinator);
  return job;
}

struct Job::Epoch {
  Epoch(Control c, Preventions preventions)
      : control(std::move(c)), world(MakeWorld(control, std::move(preventions))) {}

  const Control control;
  const Group world;
  absl::Mutex mutex;
  // The groups with handles, and some without, until the next sweep.
  std::map<std::string, std::weak_ptr<internal::GroupState>> groups ABSL_GUARDED_BY(mutex);
  size_t groups_at_sweep ABSL_GUARDED_BY(mutex) = 0;
  const std::shared_ptr<internal::LowestGroupNumber> lowest_group_number =
      std::make_shared<internal::LowestGroupNumber>();
  // How often the world was split. Equal on all ranks, because Split() is a collective.
  int splits ABSL_GUARDED_BY(mutex) = 0;

  // Sweeps only after the map has doubled, so that the cost per group stays small.
  void ForgetDroppedGroups() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (groups.size() < 2 * groups_at_sweep + 16) return;
    for (auto group = groups.begin(); group != groups.end();) {
      group = group->second.expired() ? groups.erase(group) : std::next(group);
    }
    groups_at_sweep = groups.size();
  }
};

Job::Job(Control control)
    : id_(control->job_id()), block_preventions_(std::make_shared<internal::BlockPreventions>()) {
  Enter(std::move(control));
  internal::AddLiveJob(this);
}

Job::~Job() {
  internal::RemoveLiveJob(this);
  const Control last = control();
  absl::ReleasableMutexLock lock(&mutex_);
  std::shared_ptr<void> helpers = std::move(helpers_);
  lock.Release();
  if (last->CheckProcess().ok()) {
    helpers.reset();
    last->Close();
  } else {
    // A fork has no threads to join.
    new std::shared_ptr<void>(std::move(helpers));  // leaked on purpose
  }
}

void Job::Enter(Control control) {
  auto epoch = std::make_shared<Epoch>(std::move(control), block_preventions_);
  absl::MutexLock lock(&mutex_);
  previous_.swap(current_);
  current_.swap(epoch);  // the old epoch is destroyed after the lock is released
}

std::shared_ptr<Job::Epoch> Job::current() const {
  absl::MutexLock lock(&mutex_);
  return current_;
}

Control Job::control() const { return current()->control; }

absl::Status Job::Rejoin(const CallOptions& options) {
  const Control old = control();
  absl::StatusOr<CallOptions> admitted = internal::CheckCall(*old, options);
  if (!admitted.ok()) return admitted.status();
  auto next = old->Rejoin(*admitted);
  if (!next.ok()) return next.status();
  if (*next != nullptr) Enter(*std::move(next));
  return absl::OkStatus();
}

uint64_t Job::epoch() const { return control()->epoch(); }
bool Job::resumed() const { return members().front().previous_rank.has_value(); }

int Job::NewcomersWaiting() const {
  const Control now = control();
  return now->CheckProcess().ok() ? now->newcomers_waiting() : 0;
}

Subscription Job::OnNewcomers(std::function<void()> callback) const {
  const Control now = control();
  return now->CheckProcess().ok() ? now->OnNewcomers(std::move(callback)) : Subscription();
}

absl::Status Job::RequestStop(const CallOptions& options) {
  const Control now = control();
  absl::StatusOr<CallOptions> admitted = internal::CheckCall(*now, options);
  if (!admitted.ok()) return admitted.status();
  return now->RequestStop(*admitted);
}

bool Job::StopRequested() const {
  const Control now = control();
  return now->CheckProcess().ok() && now->stop_requested();
}

absl::Status Job::Leave(const CallOptions& options) {
  const Control now = control();
  absl::StatusOr<CallOptions> admitted = internal::CheckCall(*now, options);
  if (!admitted.ok()) return admitted.status();
  absl::Status left = now->Leave(*admitted);
  if (left.ok()) internal::RemoveLiveJob(this);
  return left;
}

int Job::rank() const { return control()->rank(); }
int Job::world_size() const { return static_cast<int>(control()->members().size()); }

int Job::local_world_size() const {
  const Control now = control();
  const std::vector<Member>& all = now->members();
  const int node = all[now->rank()].node_rank;
  return static_cast<int>(std::count_if(
      all.begin(), all.end(), [&](const Member& member) { return member.node_rank == node; }));
}

int Job::num_nodes() const {
  const Control now = control();
  int last = 0;
  for (const Member& member : now->members()) last = std::max(last, member.node_rank);
  return last + 1;
}

bool Job::is_distributed() const { return control()->is_distributed(); }
Group Job::world() const { return current()->world; }
const std::vector<Member>& Job::members() const { return control()->members(); }
const Member& Job::self() const {
  const Control now = control();
  return now->members()[now->rank()];
}
bool Job::prevents_block() const { return block_preventions_->AnyOpen(); }

absl::StatusOr<Group> Job::NewGroup(absl::string_view name, const std::vector<int>& ranks) {
  const std::shared_ptr<Epoch> epoch = current();
  const internal::ControlPlane& control = *epoch->control;
  if (absl::Status status = control.CheckProcess(); !status.ok()) return status;
  absl::Status status = internal::CheckName("group name", name, control.max_name_bytes());
  status.Update(CheckRanks(name, ranks, epoch->world.size(), control.rank()));
  if (!status.ok()) return status;
  absl::MutexLock lock(&epoch->mutex);
  std::weak_ptr<internal::GroupState>& known = epoch->groups[std::string(name)];
  const std::shared_ptr<internal::GroupState> state = known.lock();
  if (state == nullptr) {
    Group group = MakeGroup(epoch->control, std::string(name), ranks, block_preventions_,
                            epoch->lowest_group_number);
    known = internal::GroupAccess::State(group);
    epoch->ForgetDroppedGroups();
    return group;
  }
  if (state->ranks == ranks) return internal::GroupAccess::Make(state);
  const bool same = std::set<int>(ranks.begin(), ranks.end()) ==
                    std::set<int>(state->ranks.begin(), state->ranks.end());
  return BadRanks(name,
                  absl::StrCat("exists with ranks ", absl::StrJoin(state->ranks, ","), "; ranks ",
                               absl::StrJoin(ranks, ","),
                               same ? " are the same ranks in another order" : " overlap with it",
                               ": groups of one name must be the same list or share no rank"));
}

absl::StatusOr<std::optional<Group>> Job::Split(std::optional<int> color, int key,
                                                const CallOptions& options, CallSite site) {
  const std::shared_ptr<Epoch> epoch = current();
  if (prevents_block()) {
    return absl::FailedPreconditionError(
        "Split() needs every rank, and inside a PreventBlock scope none is asked: split the world "
        "before the scope begins");
  }
  const auto colors = epoch->world.AllGatherBytes(internal::EncodeColor(color, key),
                                                  CallTypeName("Split"), options, site);
  absl::StatusOr<internal::ColorGroup> mine = internal::ColorGroupOf(colors, epoch->world.rank());
  if (!mine.ok()) return mine.status();
  absl::MutexLock lock(&epoch->mutex);
  const int number = ++epoch->splits;
  if (!mine->color) return std::nullopt;
  return MakeGroup(epoch->control, absl::StrCat("split ", number, ", color ", *mine->color),
                   std::move(mine->ranks), block_preventions_);
}

absl::StatusOr<Lease> Job::AcquireLease(absl::string_view name, LeaseScope scope,
                                        const CallOptions& options) {
  const Control control = this->control();
  absl::StatusOr<CallOptions> admitted = internal::CheckCall(*control, options);
  if (!admitted.ok()) return admitted.status();
  absl::Status named = internal::CheckName("lease name", name, control->max_name_bytes());
  if (!named.ok()) return named;
  auto outcome = control->AcquireLease(std::string(name), scope, *admitted);
  if (!outcome.ok()) return outcome.status();
  auto state = std::make_unique<Lease::State>();
  state->control = control;
  state->name = std::string(name);
  state->scope = scope;
  state->open = outcome->held;
  state->outcome = *std::move(outcome);
  return Lease(std::move(state));
}

Store Job::store() const { return Store(control()); }

absl::Status Job::health() const { return world().health(); }

absl::Status Job::AwaitFailure(absl::Duration timeout) const {
  return world().AwaitFailure(timeout);
}

Subscription Job::OnFailure(std::function<void(const absl::Status&)> callback) const {
  return world().OnFailure(std::move(callback));
}

}  // namespace muster
