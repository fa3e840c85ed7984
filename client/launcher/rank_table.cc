#include "client/launcher/rank_table.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/plan/master_port.h"
#include "common/credentials/process_secret.h"
#include "common/process/steady_now.h"

namespace muster::launcher {
namespace {

// Calls the kernel directly, because glibc 2.36 declares pidfd_open() without C linkage.
int OpenPidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

RankTable::RankTable(JobPlan* plan, RankStarter* starter, EventLoop* loop,
                     const HostedCoordinator* coordinator, MpiServer* mpi, TorchServer* torch,
                     OnEnd on_end)
    : plan_(*plan),
      picks_master_port_(!plan->master_port && plan->nnodes == 1),
      starter_(starter),
      loop_(loop),
      coordinator_(*coordinator),
      mpi_(mpi),
      torch_(torch),
      on_end_(std::move(on_end)),
      places_(plan->nproc_per_node) {
  for (int local_rank = 0; local_rank < plan->nproc_per_node; ++local_rank) {
    places_[local_rank].local_rank = local_rank;
    places_[local_rank].rank = plan->GlobalRank(local_rank);
  }
}

absl::Status RankTable::StartAll() {
  first_start_ = std::min(first_start_, SteadyNow());
  if (absl::Status begun = mpi_->BeginWorld(); !begun.ok()) return begun;
  if (absl::Status begun = torch_->BeginWorld(); !begun.ok()) return begun;
  if (picks_master_port_) plan_.master_port = FreePort();  // the last one may still be in use
  absl::Status started;
  for (int i = 0; i < plan_.nproc_per_node && started.ok(); ++i) started = Start(i);
  return started;
}

absl::Status RankTable::Start(int local_rank) {
  Place& place = places_[local_rank];
  const auto error = [&place](const absl::Status& status) {
    return absl::Status(status.code(),
                        absl::StrCat("cannot start rank ", place.rank, ": ", status.message()));
  };
  const absl::StatusOr<MpiAccess> mpi = mpi_->Connect(local_rank);
  if (!mpi.ok()) return error(mpi.status());
  place.secret = NewProcessSecret();
  absl::StatusOr<std::unique_ptr<ActivityReader>> activity = ActivityReader::Make();
  place.activity = activity.ok() ? *std::move(activity) : nullptr;
  const std::string activity_file = place.activity == nullptr ? "" : place.activity->path();
  const absl::StatusOr<pid_t> pid =
      starter_->Start(plan_, {local_rank, place.secret, place.starts, activity_file, *mpi});
  mpi_->CloseRankEnd(local_rank);
  if (!pid.ok()) return error(pid.status());
  place.pid = *pid;
  place.alive = true;
  place.announced_stopped = false;
  ++place.starts;
  WatchEnd(&place);
  return absl::OkStatus();
}

void RankTable::WatchEnd(Place* place) {
  // SIGCHLD alone would be enough, but it does not tell which of several ranks ended first.
  place->pidfd = OpenPidfd(place->pid);
  if (place->pidfd < 0) return;
  loop_->Watch(place->pidfd, [this, pid = place->pid] {
    int wait_status = 0;
    if (waitpid(pid, &wait_status, WNOHANG) == pid) on_end_(pid, wait_status);
  });
}

RankTable::Place* RankTable::Find(pid_t pid) {
  for (Place& place : places_) {
    if (place.alive && place.pid == pid) return &place;
  }
  return nullptr;
}

void RankTable::Ended(Place* place) {
  place->alive = false;
  if (place->pidfd < 0) return;
  loop_->Forget(place->pidfd);
  close(std::exchange(place->pidfd, -1));
}

bool RankTable::NoteStopped(Place* place, bool stopped) {
  return stopped != std::exchange(place->announced_stopped, stopped);
}

void RankTable::Signal(int signal) {
  // Signals the process group, as a terminal does, because a shell that runs the program does not
  // forward signals.
  for (const Place& place : places_) {
    if (place.alive) kill(-place.pid, signal);
  }
}

void RankTable::SignalAndContinue(int signal) {
  Signal(signal);
  Signal(SIGCONT);  // a stopped process handles no other signal
}

std::vector<int> RankTable::Living() const {
  std::vector<int> living;
  for (const Place& place : places_) {
    if (place.alive) living.push_back(place.rank);
  }
  return living;
}

std::vector<int> RankTable::OutOfReach() const {
  std::vector<int> ranks;
  for (const Place& place : places_) {
    if (place.alive && kill(place.pid, 0) != 0 && errno == EPERM) ranks.push_back(place.rank);
  }
  return ranks;
}

void RankTable::Abandon() {
  for (Place& place : places_) {
    if (place.alive) Ended(&place);
  }
}

Cleanup RankTable::CleanUpAfter(const Place& place) {
  return CleanUp([this, &place] { return LeftBehind(place); });
}

Cleanup RankTable::CleanUpAfterAll() const {
  return CleanUp([this] {
    Leftovers left = {Descendants(getpid()), {}};
    EraseIf(&left.processes,
            [&](const ProcessInfo& process) { return process.pid == coordinator_.pid(); });
    return left;
  });
}

Cleanup RankTable::CleanUp(Cleanup::Pick pick) const {
  return Cleanup(
      std::move(pick), [this](const std::string& text) { starter_->Say(text); }, plan_.grace,
      SteadyNow());
}

Leftovers RankTable::LeftBehind(const Place& place) {
  LeftoverFinder::Ranks ranks = {{coordinator_.pid()}, {}};
  for (const Place& other : places_) (other.alive ? ranks.living : ranks.ended).insert(other.pid);
  return leftovers_.Find(place.pid, absl::BytesToHexString(place.secret), ranks,
                         Descendants(getpid()));
}

}  // namespace muster::launcher
