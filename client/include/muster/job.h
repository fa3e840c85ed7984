#ifndef MUSTER_JOB_H_
#define MUSTER_JOB_H_

#include "muster/cxx17.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "muster/call_options.h"
#include "muster/codec.h"
#include "muster/group.h"
#include "muster/job_options.h"
#include "muster/lease.h"
#include "muster/reduce_op.h"
#include "muster/store.h"

// The membership of a process in its job. Every program begins here:
//
//   absl::StatusOr<std::unique_ptr<muster::Job>> job =
//       muster::Job::Join(muster::JobOptions::FromEnvironment());
//   if (!job.ok()) return job.status();
//   std::cout << "rank " << (*job)->rank() << " of " << (*job)->world_size() << std::endl;
//   absl::Status met = (*job)->Barrier("data loaded");
//   if (!met.ok()) return met;  // names the lost or missing rank, its node and why
//   return (*job)->Leave();
namespace muster {

namespace internal {
class BlockPreventions;
struct JobAccess;
}  // namespace internal

// A process's membership in its job: its rank, collectives of small objects, and leases.
// Thread-safe.
//
// When a member of the job is lost, every waiting and later call of this process ends with ABORTED.
// The error names the lost member's rank, node and pid, and the cause. In an elastic job, Rejoin()
// then leads into the next epoch. An epoch is one formed membership of the job, not a pass over the
// training data.
//
// musterd may be killed and restarted at any time. Calls wait until it is back, and then end as if
// nothing had happened. If this process cannot reach it for JobOptions::coordinator_timeout, the
// epoch ends for this process, and calls return UNAVAILABLE: without the daemon it would not learn
// that a peer has died.
//
// A child of fork() shares its parent's connections. So calls on the parent's Job return
// FAILED_PRECONDITION in the child, and so does Join() with a coordinator.
class Job {
 public:
  // Joins the job, and blocks until all its members have joined, for at most JobOptions::timeout.
  // Returns the error of `options` if it is one, so that JobOptions::FromEnvironment() can be
  // passed directly. Retries until the deadline while the coordinator's name does not resolve or
  // the coordinator does not answer.
  //
  // Errors say which phase failed: resolving the coordinator's name, connecting, registering, or
  // waiting for members (m of n have joined).
  //   DEADLINE_EXCEEDED    the time-out has passed;
  //   UNAVAILABLE          the coordinator could not be reached;
  //   INVALID_ARGUMENT     an option is invalid or contradicts the other members: different world
  //                        sizes, a rank out of range, or a rank where other members ask for none;
  //   FAILED_PRECONDITION  the job is full or finished, or the versions of SDK and daemon do not
  //                        work together;
  //   ABORTED              the job has failed;
  //   NOT_FOUND            the coordinator serves another job;
  //   ALREADY_EXISTS       the rank is taken; or this process has already joined the job, and
  //                        should use the Job that it has;
  //   RESOURCE_EXHAUSTED   this process cannot start a thread, and nothing was sent; or the
  //                        coordinator accepts no more members;
  //   CANCELLED            `cancellation` was cancelled.
  static absl::StatusOr<std::unique_ptr<Job>> Join(absl::StatusOr<JobOptions> options,
                                                   Cancellation* cancellation = nullptr);

  // Ends the membership. Without a Leave() before it, the other members see this one as lost. Does
  // not wait for other members. Groups, leases and communicators of the job may outlive it; their
  // calls then return CANCELLED.
  ~Job();

  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Ends this process's part in the job. Blocks until every member is leaving or lost, so that no
  // process ends while another still needs it. Returns OK even if a member was lost, because a
  // leaving process needs nothing from it. Idempotent. Later collectives and leases return
  // FAILED_PRECONDITION.
  //   DEADLINE_EXCEEDED  names the members that are not leaving; this process then counts as lost.
  absl::Status Leave(const CallOptions& options = {});

  // In an elastic job (musterd --min-world-size), moves this process from the current epoch to the
  // next one: after a loss, or to admit newcomers. If the epoch is not broken yet, this breaks it:
  // the calls of all other members return ABORTED, and they must call Rejoin() too. Blocks until
  // the next epoch forms. It forms when all places are taken, or when there are enough members and
  // no process has come or gone for the daemon's settle time.
  //
  // Afterwards the functions below describe the new epoch. Groups and communicators of the old
  // epoch return its error; make new ones. References to members stay valid until the next
  // Rejoin(), or as long as a group of their epoch exists. A held lease stays held. Survivors keep
  // their order, and rank 0 is a survivor if there is one. So `Broadcast(state, 0)` gives the state
  // of the job to all ranks; see resumed().
  //
  // Call it from one thread. Other threads may use the Job meanwhile; each of their calls belongs
  // to the epoch in which it began. In serial mode it returns OK and changes nothing.
  //   FAILED_PRECONDITION  the job is not elastic, or too few members are left, or another thread
  //                        is already in Rejoin(), or this process has left;
  //   ABORTED              this process counts as lost and cannot rejoin; start a new process;
  //   DEADLINE_EXCEEDED    names the members that the job waits for. May be called again;
  //   CANCELLED, UNAVAILABLE  as in Group.
  absl::Status Rejoin(const CallOptions& options = {});

  // Returns the number of the current epoch. It grows from epoch to epoch.
  uint64_t epoch() const;
  // Returns whether the epoch continues an earlier one. If so, rank 0 is a survivor and holds the
  // job's state. self().previous_rank says whether this process is a survivor.
  bool resumed() const;

  // Returns the number of processes that wait for a place and would get one in the next epoch. Does
  // not block. Members may see different numbers for a moment. To re-form, let one member call
  // Rejoin(), or agree first: `Broadcast(NewcomersWaiting(), 0)`.
  int NewcomersWaiting() const;
  // Calls `callback` once, when NewcomersWaiting() is first not 0 in this epoch. Calls it from a
  // thread of the SDK, or at once from this thread. It must not block, and must not call the Job.
  [[nodiscard]] Subscription OnNewcomers(std::function<void()> callback) const;

  // Asks all ranks to stop at the same step, for instance because this machine is about to be taken
  // away. Blocks until the coordinator has the request. Errors as in Group.
  absl::Status RequestStop(const CallOptions& options = {});
  // Returns whether a collective of the world in this epoch has told this process that a stop was
  // requested. It becomes true at the same collective on all ranks, and stays true: after
  // `job->Barrier("step 7")` all ranks return the same. Does not block.
  bool StopRequested() const;

  // Return this process's index in the world, the number of processes, and its index on its node.
  // All indices count from 0.
  int rank() const;
  int world_size() const;
  int local_rank() const { return self().local_rank; }
  // Returns the number of processes on this node.
  int local_world_size() const;
  // Return this node's index, the number of nodes, and this node's name: MUSTER_NODE_ID, or else
  // host name and boot id.
  int node_rank() const { return self().node_rank; }
  int num_nodes() const;
  const std::string& node_id() const { return self().node_id; }
  // Returns whether this process is rank 0.
  bool is_main() const { return rank() == 0; }
  // Returns false in serial mode.
  bool is_distributed() const;
  // Returns the job's id.
  const std::string& id() const { return id_; }
  // Return all members, in the order of their ranks, and this one.
  const std::vector<Member>& members() const;
  const Member& self() const;

  // Returns the group of all ranks. It belongs to the current epoch for as long as it lives.
  Group world() const;

  // Returns whether this thread has a PreventBlock scope open (muster/scopes.h), in which no
  // collective waits.
  bool prevents_block() const;

  // The collectives of the world. See Group.
  absl::Status Barrier(absl::string_view label = "", const CallOptions& options = {},
                       CallSite site = CallSite::Here()) const {
    return world().Barrier(label, options, site);
  }
  template <class T>
  absl::StatusOr<internal::Returned<T>> Broadcast(const T& value, int root = 0,
                                                  const CallOptions& options = {},
                                                  CallSite site = CallSite::Here()) const {
    return world().Broadcast(value, root, options, site);
  }
  template <class T>
  absl::StatusOr<std::vector<internal::Returned<T>>> Gather(
      const T& value, int root = 0, const CallOptions& options = {},
      CallSite site = CallSite::Here()) const {
    return world().Gather(value, root, options, site);
  }
  template <class T>
  absl::StatusOr<std::vector<internal::Returned<T>>> AllGather(
      const T& value, const CallOptions& options = {}, CallSite site = CallSite::Here()) const {
    return world().AllGather(value, options, site);
  }
  template <class T>
  absl::StatusOr<typename internal::Elements<T>::Value> AllReduce(
      const T& value, ReduceOp op = ReduceOp::kSum, const CallOptions& options = {},
      CallSite site = CallSite::Here()) const {
    return world().AllReduce(value, op, options, site);
  }
  // The same on arrays in the caller's memory. See Group.
  template <class T>
  absl::Status Broadcast(absl::Span<T> data, int root = 0, const CallOptions& options = {},
                         CallSite site = CallSite::Here()) const {
    return world().Broadcast(data, root, options, site);
  }
  template <class T>
  absl::Status Gather(internal::NonDeduced<absl::Span<const T>> mine, absl::Span<T> all,
                      int root = 0, const CallOptions& options = {},
                      CallSite site = CallSite::Here()) const {
    return world().Gather(mine, all, root, options, site);
  }
  template <class T>
  absl::Status AllGather(internal::NonDeduced<absl::Span<const T>> mine, absl::Span<T> all,
                         const CallOptions& options = {}, CallSite site = CallSite::Here()) const {
    return world().AllGather(mine, all, options, site);
  }
  template <class T>
  absl::Status AllReduce(absl::Span<T> data, ReduceOp op = ReduceOp::kSum,
                         const CallOptions& options = {}, CallSite site = CallSite::Here()) const {
    return world().AllReduce(data, op, options, site);
  }

  // Returns a group of these ranks, in this order. All of them must call it with the same name and
  // list. Local: does not block. Two groups of one name must have the same list or share no rank; a
  // second call with the same name and list returns the same group. A group takes memory until all
  // its ranks have destroyed all its handles, including communicators, so a program may make a
  // group per step.
  //   INVALID_ARGUMENT  the name or the list is empty; a rank is listed twice or out of range, or
  //                     the caller's own rank is missing.
  absl::StatusOr<Group> NewGroup(absl::string_view name, const std::vector<int>& ranks);

  // Divides the world into groups, one for each color, as MPI_Comm_split does (MPI 4.0, 7.4.2).
  // Returns the group of the caller's color, whose ranks are ordered by key, and by rank where keys
  // are equal. Returns nullopt to callers that pass no color (MPI_UNDEFINED). A collective of the
  // world; errors as in Group. After DEADLINE_EXCEEDED, retry it; the first color and key that this
  // rank passed are used. Each call makes new groups ("split 2, color 0") in the current epoch.
  //   FAILED_PRECONDITION  also inside a PreventBlock scope, where the other ranks do not call it.
  absl::StatusOr<std::optional<Group>> Split(std::optional<int> color, int key = 0,
                                             const CallOptions& options = {},
                                             CallSite site = CallSite::Here());

  // Asks for the lease on work that is done once per node or once per job. Blocks until this
  // process holds the lease, or another process has completed the work. Errors as in Group.
  //   DEADLINE_EXCEEDED  names the process that holds the lease.
  absl::StatusOr<Lease> AcquireLease(absl::string_view name, LeaseScope scope,
                                     const CallOptions& options = {});

  // Returns the job's key-value store. Local: does not block, and connects to nothing before the
  // first use.
  Store store() const;

  // Runs `work` on one process of each node, the first to call this, and returns its value on all
  // processes of the node; they block until it has run. `work` returns T, StatusOr<T>, Status or
  // void; for T see muster/codec.h. Returns StatusOr<T>, or Status if the work has no value. An
  // error of the work is returned on all processes, and an exception as INTERNAL. If the process
  // that runs the work dies, another one runs it again, so the work must be repeatable.
  template <class F>
  auto RunOncePerNode(absl::string_view name, F&& work, const CallOptions& options = {}) {
    return RunOnce(name, LeaseScope::kNode, std::forward<F>(work), options);
  }
  // The same, on one process of the job.
  template <class F>
  auto RunOncePerJob(absl::string_view name, F&& work, const CallOptions& options = {}) {
    return RunOnce(name, LeaseScope::kJob, std::forward<F>(work), options);
  }
  // Runs `work` on one rank, and returns its value on every rank. A collective of the world. An
  // error of the work is returned on every rank, with the name of the rank that ran it, and an
  // exception as INTERNAL. While the work runs, a PreventBlock scope of this thread is open,
  // because the other ranks do not call the collectives of the work. The other ranks wait as long
  // as the rank that runs the work lives, or for the time-out if one is given.
  //   ABORTED             that rank, or another member, was lost;
  //   UNAVAILABLE         the coordinator could not be reached for JobOptions::coordinator_timeout;
  //   RESOURCE_EXHAUSTED  on every rank: the value is over the coordinator's limit.
  template <class F>
  auto RunOnRank(int rank, F&& work, const CallOptions& options = {},
                 CallSite site = CallSite::Here());
  // The same, on rank 0.
  template <class F>
  auto RunOnMain(F&& work, const CallOptions& options = {}, CallSite site = CallSite::Here()) {
    return RunOnRank(0, std::forward<F>(work), options, site);
  }

  // Returns OK while no member of the current epoch is lost and the coordinator can be reached.
  // Afterwards returns the error that calls end with.
  absl::Status health() const;

  // Blocks until health() is an error, and returns it. Returns OK after `timeout`.
  absl::Status AwaitFailure(absl::Duration timeout) const;

  // Calls `callback` once, with the error of health(), as soon as it is known; with CANCELLED if
  // the Job is destroyed before. Calls it from a thread of the SDK, or at once from this thread; in
  // serial mode from the thread that destroys the Job. It must not block, and must not call the
  // Job. The subscription is for the current epoch: subscribe again after Rejoin().
  [[nodiscard]] Subscription OnFailure(std::function<void(const absl::Status&)> callback) const;

  // Not for programs.
  explicit Job(std::shared_ptr<internal::ControlPlane> control);

 private:
  template <class F>
  auto RunOnce(absl::string_view name, LeaseScope scope, F&& work, const CallOptions& options);

  friend struct internal::JobAccess;

  // The state of one epoch.
  struct Epoch;
  std::shared_ptr<Epoch> current() const;
  std::shared_ptr<internal::ControlPlane> control() const;
  void Enter(std::shared_ptr<internal::ControlPlane> control);

  const std::string id_;
  const std::shared_ptr<internal::BlockPreventions> block_preventions_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<Epoch> current_ ABSL_GUARDED_BY(mutex_);
  // Keeps the previous epoch's members valid for callers of members(). Earlier epochs live as long
  // as their groups.
  std::shared_ptr<Epoch> previous_ ABSL_GUARDED_BY(mutex_);
  // State of the helpers; see client/src/job/job_access.h. The last member, because its destructor
  // uses the epochs.
  mutable std::shared_ptr<void> helpers_ ABSL_GUARDED_BY(mutex_);
};

namespace internal {

// The types of the result of leased work: what travels to the other processes, and what callers
// get.
template <class R>
struct WorkResult {
  using Value = R;
  using Return = absl::StatusOr<R>;
};
template <class T>
struct WorkResult<absl::StatusOr<T>> {
  using Value = T;
  using Return = absl::StatusOr<T>;
};
template <>
struct WorkResult<absl::Status> {
  using Value = void;
  using Return = absl::Status;
};
template <>
struct WorkResult<void> : WorkResult<absl::Status> {};

template <class F>
using WorkReturn = typename WorkResult<std::decay_t<std::invoke_result_t<F>>>::Return;

template <class F>
WorkReturn<F> RunWork(F&& work) {
  if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
    std::forward<F>(work)();
    return absl::OkStatus();
  } else {
    return std::forward<F>(work)();
  }
}

// Calls `work`. Returns INTERNAL, with the text of the exception, if it throws.
absl::Status CallGuarded(absl::FunctionRef<void()> work);
// Calls `work` while a PreventBlock scope is open.
absl::Status CallAlone(Job& job, absl::FunctionRef<void()> work);

// Calls RunWork() within `guard`, which is one of the functions above.
template <class F, class Guard>
WorkReturn<F> RunGuarded(F&& work, Guard&& guard) {
  std::optional<WorkReturn<F>> result;
  const absl::Status thrown = guard([&] { result.emplace(RunWork(std::forward<F>(work))); });
  if (!thrown.ok()) return thrown;
  return *std::move(result);
}
template <class F>
WorkReturn<F> RunAlone(Job& job, F&& work) {
  return RunGuarded(std::forward<F>(work),
                    [&](absl::FunctionRef<void()> body) { return CallAlone(job, body); });
}

// Returns the root's outcome on every rank of the group; an error gets the root's name. Ignores the
// outcomes that other ranks pass. `root` is an index into the group.
absl::StatusOr<std::string> ShareOutcome(const Group& group, int root,
                                         const absl::StatusOr<std::string>& outcome,
                                         absl::string_view operation, const CallOptions& options,
                                         CallSite site);

inline absl::StatusOr<std::string> EncodeOutcome(const absl::Status& status) {
  if (!status.ok()) return status;
  return std::string();
}
template <class T>
absl::StatusOr<std::string> EncodeOutcome(const absl::StatusOr<T>& value) {
  if (!value.ok()) return value.status();
  return Encode(*value);
}

template <class Return>
Return DecodeOutcome(const absl::StatusOr<std::string>& outcome) {
  if (!outcome.ok()) return outcome.status();
  if constexpr (std::is_same_v<Return, absl::Status>) {
    return absl::OkStatus();
  } else {
    return Decode<typename Return::value_type>(*outcome);
  }
}

}  // namespace internal

template <class F>
auto Job::RunOnce(absl::string_view name, LeaseScope scope, F&& work, const CallOptions& options) {
  using Return = internal::WorkReturn<F>;
  absl::StatusOr<Lease> lease = AcquireLease(name, scope, options);
  if (!lease.ok()) return Return(lease.status());
  if (!lease->held()) return internal::DecodeOutcome<Return>(lease->result());
  Return value = internal::RunGuarded(std::forward<F>(work), internal::CallGuarded);
  const absl::StatusOr<std::string> outcome = internal::EncodeOutcome(value);
  const absl::Status published = lease->Publish(outcome);
  if (!published.ok()) return Return(published);
  return value;
}

template <class F>
auto Job::RunOnRank(int rank, F&& work, const CallOptions& options, CallSite site) {
  using Return = internal::WorkReturn<F>;
  absl::StatusOr<std::string> outcome = std::string();
  if (this->rank() == rank || prevents_block()) {
    outcome = internal::EncodeOutcome(internal::RunAlone(*this, std::forward<F>(work)));
  }
  return internal::DecodeOutcome<Return>(
      internal::ShareOutcome(world(), rank, outcome, "RunOnRank", options, site));
}

}  // namespace muster

#endif  // MUSTER_JOB_H_
