#ifndef MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_
#define MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/api/checkpoint.h"
#include "server/core/api/effects.h"
#include "server/core/collectives/collectives.h"
#include "server/core/collectives/group_releases.h"
#include "server/core/collectives/groups.h"
#include "server/core/coordinator.h"
#include "server/core/formation/forming.h"
#include "server/core/formation/give_up_policy.h"
#include "server/core/formation/joining.h"
#include "server/core/formation/newcomer_announcer.h"
#include "server/core/job/calls.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"
#include "server/core/job/member_table.h"
#include "server/core/job/stall_watch.h"
#include "server/core/leases/leases.h"
#include "server/core/members/membership.h"
#include "server/core/recovery/attaching.h"
#include "server/core/recovery/recovery.h"
#include "server/core/reports/stall_reports.h"
#include "server/core/reports/status_reporter.h"
#include "server/core/reports/store_stalls.h"
#include "server/core/statistics/counters.h"
#include "server/core/store/store.h"

namespace muster::core {

// Returns the store's part of the options.
store::Options StoreOptionsOf(const Options& options);

// The owners of a job's state, and the driver of a step. A step is Begin(), one Take(), End(). A
// handler changes state and does not act on what that change makes possible elsewhere. End() does
// that: it advances the job until nothing more has become due (advancing.cc). So no handler is
// entered from within another one.
//
// Each owner refers only to owners above it among the fields. If something must reach an owner
// below, a returned value says so, and this driver carries it there.
class Coordinator::Impl {
 public:
  explicit Impl(Options options) : job_(std::move(options)) {}
  void Begin(Time now) {
    job_.now = now;
    store_.Begin(now);
  }
  // Takes the input of the step, by its kind.
  void Take(WaiterId stream, const AttachRequest& request);
  void Take(WaiterId stream, const StreamClosed& closed);
  void Take(WaiterId waiter, const CallCancelled& cancelled);
  void Take(WaiterId, const DeadlineReached& reached);
  void Take(WaiterId, const DrainBegun& drain);
  void Take(WaiterId, const VerdictFound& verdict);
  void Take(WaiterId stream, const StoreRequest& request);
  void Take(WaiterId stream, const StoreLeft& left);
  // Takes a call. A call that is refused has changed nothing.
  template <class Request>
  void Take(WaiterId waiter, const Request& request) {
    calls_.Open(waiter);
    if (absl::Status s = Receive(waiter, request); !s.ok()) calls_.Finish(waiter, s);
  }
  Effects End();

  Time NextDeadline() const;
  std::optional<Checkpoint> MakeCheckpoint() const;
  void Restore(Time now, const Checkpoint& checkpoint);
  bool Quiet() const { return !members_.any_attached() && recovery_.claims().empty(); }
  const JobContext& job() const { return job_; }
  const Lifecycle& life() const { return life_; }
  const Forming& forming() const { return forming_; }
  const StatusReporter& status_reporter() const { return status_reporter_; }
  const store::Store& store() const { return store_; }

 private:
  // Serves a call of a member, or defers it until the recovery is over.
  template <class Request>
  absl::Status Receive(WaiterId waiter, const Request& request) {
    absl::StatusOr<Member*> caller = calls_.Caller(request.call);
    if (!caller.ok()) return caller.status();
    auto& server = ServerOf(request);
    if (absl::Status s = server.CheckContent(**caller, request); !s.ok()) return s;
    if (life_.recovering()) return recovery_.Defer(waiter, *caller, request);
    return server.Serve(waiter, *caller, request);
  }
  absl::Status Receive(WaiterId waiter, const NodeCollectiveRequest& request) {
    return collectives_.Receive(waiter, request);
  }
  absl::Status Receive(WaiterId waiter, const ExitReport& report);
  absl::Status Receive(WaiterId waiter, const ProcessStateReport& report) {
    return membership_.Receive(waiter, report);
  }

  // Returns the owner that serves a call. Its CheckContent() finds errors of the request that do
  // not depend on the job's state, and runs before the call may be deferred. If its Serve() returns
  // an error, the call is refused and has changed nothing.
  Joining& ServerOf(const JoinRequest&) { return joining_; }
  Membership& ServerOf(const RejoinRequest&) { return membership_; }
  Membership& ServerOf(const LeaveRequest&) { return membership_; }
  Collectives& ServerOf(const CollectiveRequest&) { return collectives_; }
  Collectives& ServerOf(const WithdrawRequest&) { return collectives_; }
  GroupReleases& ServerOf(const ReleaseRequest&) { return releases_; }
  Collectives& ServerOf(const CommitReport&) { return collectives_; }
  Leases& ServerOf(const AcquireLeaseRequest&) { return leases_; }
  Leases& ServerOf(const CompleteLeaseRequest&) { return leases_; }
  Leases& ServerOf(const AbandonLeaseRequest&) { return leases_; }
  Impl& ServerOf(const StopRequest&) { return *this; }
  absl::Status CheckContent(const Member&, const StopRequest&) const { return absl::OkStatus(); }
  absl::Status Serve(WaiterId waiter, Member* member, const StopRequest& request);

  // ---- store_clients.cc: the store ----
  absl::Status CheckStoreRequest(const StoreRequest& request) const;
  // Ends the store clients of members that were lost.
  void LoseStoreClients();
  // Ends the store's step, and adds its effects to the job's.
  void TakeStoreEffects(Effects* effects);

  // ---- advancing.cc: what has become due. Each returns whether it did something ----
  void Advance();
  bool AdvanceOnce();
  bool TryResolveContenders();  // between candidates that ask for the same place
  bool TryLoseSilent();         // loses survivors that have not called Rejoin in time
  bool TryForm();               // forms the next epoch
  bool ServeNextDeferred();     // after a recovery

  void TimeOut(WaiterId id);
  absl::Status DescribeTimeout(const ParkedCall& call);
  bool NothingIsUnderWay() const;
  void RestoreEpoch(const Checkpoint& checkpoint);
  Epoch* epoch() const { return life_.epoch(); }

  // Shared by all owners.
  JobContext job_;
  // The store, which knows nothing of the owners below. This driver tells it which processes have
  // ended.
  store::Store store_{StoreOptionsOf(job_.options), &job_.budget};
  decltype(Counters::losses) known_losses_{};  // the losses that the store has been told of
  Lifecycle life_{job_};
  StallWatch stalls_{job_};
  MemberTable members_{store_};
  Calls calls_{job_, members_, stalls_};
  // Calls of running members.
  Groups groups_{job_, life_, members_, calls_};
  Collectives collectives_{job_, life_, members_, calls_, groups_};
  GroupReleases releases_{job_, life_, calls_, groups_};
  Leases leases_{job_, life_, members_, calls_};
  // The formation of an epoch.
  Joining joining_{job_, life_, members_, calls_};
  Forming forming_{job_, life_, members_, calls_, joining_};
  GiveUpPolicy give_up_policy_{job_, life_, joining_};
  NewcomerAnnouncer newcomer_announcer_{job_, life_, joining_};
  // Sessions, losses and the recovery.
  Membership membership_{job_,         life_,   members_, calls_,   groups_,
                         collectives_, leases_, joining_, forming_, give_up_policy_};
  Recovery recovery_{job_,    life_,    members_, calls_,          stalls_,    releases_,
                     leases_, joining_, forming_, give_up_policy_, membership_};
  Attaching attaching_{job_,      life_,   members_,        membership_,         groups_,
                       releases_, leases_, give_up_policy_, newcomer_announcer_, recovery_};
  // Reports.
  StatusReporter status_reporter_{job_,    store_,   life_,    members_, calls_,
                                  leases_, joining_, forming_, recovery_};
  StallReports stall_reports_{job_,     life_,       calls_,    stalls_,         joining_,
                              forming_, membership_, recovery_, status_reporter_};
  StoreStalls store_stalls_{job_, store_, members_, status_reporter_};
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_
