#ifndef MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_
#define MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/attaching.h"
#include "server/core/calls.h"
#include "server/core/checkpoint.h"
#include "server/core/collectives.h"
#include "server/core/coordinator.h"
#include "server/core/forming.h"
#include "server/core/giving_up.h"
#include "server/core/group_releases.h"
#include "server/core/groups.h"
#include "server/core/insight.h"
#include "server/core/job_context.h"
#include "server/core/joining.h"
#include "server/core/leases.h"
#include "server/core/lifecycle.h"
#include "server/core/member_table.h"
#include "server/core/membership.h"
#include "server/core/newcomer_news.h"
#include "server/core/recovery.h"
#include "server/core/stall_reports.h"
#include "server/core/stall_watch.h"
#include "server/core/standing.h"

namespace muster::core {

// The state behind Coordinator. A step is Begin, one Take, End. Handlers change state and do
// nothing that another part of the state may have become ready for; End() does that: it advances
// the job until nothing more has become due (advancing.cc). So no handler is entered from within
// another one.
//
// Its functions stand in files by topic: sessions.cc (attach, detach), losses.cc, claims.cc (what
// members say of themselves), group_releases.cc, giving_up.cc, recovery.cc (a restarted daemon),
// joining.cc, forming.cc, elastic.cc, stopping.cc, stall.cc, collectives.cc, node_collectives.cc,
// leases.cc, leaving.cc, status.cc, checkpoint.cc; calls.cc has what all calls share.
class Coordinator::Impl {
 public:
  explicit Impl(Options options);

  void Begin(Time now) { job_.now = now; }
  // What the step is about, by its kind.
  void Take(WaiterId stream, const AttachRequest& request);
  void Take(WaiterId stream, const StreamClosed& closed);
  void Take(WaiterId waiter, const CallCancelled& cancelled);
  void Take(WaiterId, const DeadlineReached& reached);
  void Take(WaiterId, const DrainBegun& drain);
  void Take(WaiterId, const VerdictFound& verdict);
  // A call. One that is refused has changed nothing.
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
  const Insight& insight() const { return insight_; }

 private:
  // ---- What a step takes in ----
  // Any call of a member: serves it, or defers it until the recovery is over.
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
  absl::Status Receive(WaiterId waiter, const ExitReport& report) {
    return membership_.Receive(waiter, report);
  }
  absl::Status Receive(WaiterId waiter, const ProcessStateReport& report) {
    return membership_.Receive(waiter, report);
  }

  // The part of the coordinator that serves a call. Its CheckContent says what is wrong with the
  // request whatever the state of the job is: that is refused before it is deferred. An error of
  // its Serve refuses the call, which has changed nothing then.
  template <class Request>
  Impl& ServerOf(const Request&) {
    return *this;
  }
  Joining& ServerOf(const JoinRequest&) { return joining_; }
  Membership& ServerOf(const LeaveRequest&) { return membership_; }
  Collectives& ServerOf(const CollectiveRequest&) { return collectives_; }
  Collectives& ServerOf(const WithdrawRequest&) { return collectives_; }
  GroupReleases& ServerOf(const ReleaseRequest&) { return releases_; }
  Leases& ServerOf(const AcquireLeaseRequest&) { return leases_; }
  Leases& ServerOf(const CompleteLeaseRequest&) { return leases_; }
  Leases& ServerOf(const AbandonLeaseRequest&) { return leases_; }

  template <class Request>
  absl::Status CheckContent(const Member&, const Request&) const {
    return absl::OkStatus();
  }

  absl::Status Serve(WaiterId waiter, Member* member, const RejoinRequest& request);
  absl::Status Serve(WaiterId waiter, Member* member, const StopRequest& request);

  absl::Status CheckContent(const Member& member, const RejoinRequest& request) const;

  // ---- advancing.cc: what has become due. Each returns whether it did something ----
  void Advance();
  bool AdvanceOnce();
  bool TryResolveContenders();  // of those who ask for one and the same place
  bool TryLoseSilent();         // survivors that have not called Rejoin in time
  bool TryForm();               // the next epoch
  bool ServeNextDeferred();     // after a recovery

  // ---- The end of calls ----
  void TimeOut(WaiterId id);
  absl::Status DescribeTimeout(const ParkedCall& call);

  // ---- checkpoint.cc ----
  bool NothingIsUnderWay() const;
  void RestoreEpoch(const Checkpoint& checkpoint);

  Epoch* epoch() const { return life_.epoch(); }

  JobContext job_;  // before all that uses it
  Lifecycle life_{job_};
  StallWatch stalls_{job_};
  MemberTable members_;
  Calls calls_{job_, members_, stalls_};
  Groups groups_{job_, life_, members_, calls_};
  Collectives collectives_{job_, life_, members_, calls_, groups_};
  GroupReleases releases_{job_, life_, calls_, groups_};
  Leases leases_{job_, life_, members_, calls_};
  Joining joining_{job_, life_, members_, calls_};
  Forming forming_{job_, life_, members_, calls_, joining_};
  GivingUp giving_up_{job_, life_, joining_};
  NewcomerNews newcomer_news_{job_, life_, joining_};

  Membership membership_{job_,         life_,   members_, calls_,   groups_,
                         collectives_, leases_, joining_, forming_, giving_up_};
  Recovery recovery_{job_,    life_,    members_, calls_,     stalls_,    releases_,
                     leases_, joining_, forming_, giving_up_, membership_};
  Attaching attaching_{job_,      life_,   members_,   membership_,    groups_,
                       releases_, leases_, giving_up_, newcomer_news_, recovery_};
  Insight insight_{job_, life_, members_, calls_, leases_, joining_, forming_, recovery_};
  StallReports stall_reports_{job_,     life_,       calls_,    stalls_, joining_,
                              forming_, membership_, recovery_, insight_};
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_
