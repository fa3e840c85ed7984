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

namespace muster {

namespace internal {
class BlockPreventions;
struct JobAccess;
}  // namespace internal

// A process's membership in its job: rank, collectives of small objects, leases. Thread-safe.
//
//   absl::StatusOr<std::unique_ptr<muster::Job>> job =
//       muster::Job::Join(muster::JobOptions::FromEnvironment());
//   if (!job.ok()) return Fail(job.status());
//   ...
//   absl::Status left = (*job)->Leave();
//
// When any member of the job is lost, every waiting and later call of this process ends with
// ABORTED and one text that names the lost member's rank, node, pid and cause. In an elastic job
// Rejoin() then leads into the next epoch. (An epoch, here, is one formed membership of the job,
// not a pass over the training data.)
//
// musterd may be killed and started again at any time: calls wait until it is back, and end as they
// would have ended. If this process cannot reach it for JobOptions::coordinator_timeout the epoch
// is over here as after a loss, with UNAVAILABLE: nobody could tell it any more that a peer has
// died.
//
// A process that called fork() cannot use a Job it had before: calls in the child are refused, and
// so is Join() at a coordinator, since the child shares the connections of its parent.
class Job {
 public:
  // Joins the job and blocks until all its members have (options.timeout at most). Takes an error
  // too, so that JobOptions::FromEnvironment() can be passed as it is.
  //
  // Errors say in which phase joining ended: resolving the coordinator's name, connecting,
  // registering, or waiting for members (m of n have joined). A name that does not resolve yet and
  // a coordinator that does not answer yet are tried again until the deadline.
  //   DEADLINE_EXCEEDED, UNAVAILABLE; INVALID_ARGUMENT (options that cannot be, or do not fit those
  //   of the others: world sizes that disagree, a rank out of range, a rank asked for where others
  //   ask for none); FAILED_PRECONDITION (the job is full or finished; versions of SDK and daemon
  //   that do not fit); ABORTED (the job has failed); NOT_FOUND (another job's coordinator);
  //   ALREADY_EXISTS (the rank asked for is taken; or this process has joined the job already, and
  //   should use the Job that it has); RESOURCE_EXHAUSTED (this process gets no further thread, and
  //   nothing was sent; or the coordinator takes no further member); CANCELLED.
  static absl::StatusOr<std::unique_ptr<Job>> Join(absl::StatusOr<JobOptions> options,
                                                   Cancellation* cancellation = nullptr);

  // Without Leave() before it, the other members see this one as lost. Waits for nobody. What was
  // made of the job (groups, leases, communicators) may live on: it returns CANCELLED from then on.
  ~Job();

  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Says that this process needs nothing more, and blocks until every member is leaving or lost: so
  // nobody takes away what another still needs. Collectives and leases after it are refused with
  // FAILED_PRECONDITION. Idempotent. OK also when a member was lost: a leaving process needs
  // nothing of it. DEADLINE_EXCEEDED names who is not leaving; this process then counts as lost.
  absl::Status Leave(const CallOptions& options = {});

  // Leads from the current epoch into the next one, in an elastic job (musterd --min-world-size):
  // after a loss, or to take in newcomers. Breaks the epoch if it is still whole, so that every
  // other member gets ABORTED from its calls and must call Rejoin() too. Blocks until the next
  // epoch forms: when all its places are taken, or when nothing has changed for the daemon's settle
  // time and there are enough members.
  //
  // Afterwards everything below is of the new epoch. What was made before stays of the old one:
  // groups and communicators return the old epoch's error; make new ones. References to members
  // stay valid until the Rejoin() after this one, or for as long as there is a group of their
  // epoch. A lease that is held stays held. Ranks are stable: survivors keep their order, and rank
  // 0 is one of them if there is any, so that `Broadcast(state, 0)` gives everybody what the job
  // had reached; see resumed().
  //
  // Call it from one thread. Others may go on using the Job; each of their calls is of the epoch in
  // which it began. In serial mode: OK, and nothing changes.
  //   FAILED_PRECONDITION  the job is not elastic, or too few members are left for it to go on, or
  //                        another thread is at it, or this process has left;
  //   ABORTED              this process counts as lost: it cannot come back, only a new process
  //   can; DEADLINE_EXCEEDED    naming whom the job waits for; may be called again; CANCELLED,
  //   UNAVAILABLE as in Group.
  absl::Status Rejoin(const CallOptions& options = {});

  // Names the current epoch; grows from each to the next.
  uint64_t epoch() const;
  // Whether the epoch continues an earlier one: then rank 0 is a survivor, which holds the job's
  // state. self().previous_rank tells whether this process is one.
  bool resumed() const;

  // Number of processes that wait for a place, as far as the next epoch has one for them. Does not
  // block. The members may differ for a moment: to re-form, let one of them call Rejoin(), or agree
  // first (`Broadcast(NewcomersWaiting(), 0)`).
  int NewcomersWaiting() const;
  // Calls `callback` once, when that number is not 0 for the first time in this epoch: from a
  // thread of the SDK, or at once in this one. It must not block, nor call the Job.
  [[nodiscard]] Subscription OnNewcomers(std::function<void()> callback) const;

  // Asks all ranks to stop at one and the same step, for instance because the machine of this one
  // is about to go away. Returns when the coordinator knows; errors as in Group.
  absl::Status RequestStop(const CallOptions& options = {});
  // Whether a collective of the world that this process has completed in this epoch said that a
  // stop was asked for. Turns true at the same collective on all ranks, and stays so: after
  // `job->Barrier("step 7")` either all ranks see it or none. Does not block.
  bool StopRequested() const;

  // This process's place in the world, how many there are, and its place on its node; from 0.
  int rank() const;
  int world_size() const;
  int local_rank() const { return self().local_rank; }
  // Number of processes on this node.
  int local_world_size() const;
  // This node's place, how many there are, and its name: MUSTER_NODE_ID, else host and boot.
  int node_rank() const { return self().node_rank; }
  int num_nodes() const;
  const std::string& node_id() const { return self().node_id; }
  // Rank 0.
  bool is_main() const { return rank() == 0; }
  // False in serial mode.
  bool is_distributed() const;
  // The job's name.
  const std::string& id() const { return id_; }
  // Every member, in rank order, and this one.
  const std::vector<Member>& members() const;
  const Member& self() const;

  // All ranks. A handle, which is of the current epoch for as long as it lives.
  Group world() const;

  // Whether a PreventBlock scope of this thread is open (muster/scopes.h), in which no collective
  // waits.
  bool prevents_block() const;

  // The collectives of the world; see Group.
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
  // On arrays in the caller's memory.
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

  // A group of some ranks, in the order given, which all of them must create alike. Local: does not
  // block. Two groups of one name must be the same list or share no rank, and asking again for the
  // same one returns the same group. A group costs memory until all its ranks have let go of all
  // its handles, communicators too: a program may make a group per step. INVALID_ARGUMENT: an empty
  // name or list, a rank twice, out of range, or without the caller's own.
  absl::StatusOr<Group> NewGroup(absl::string_view name, const std::vector<int>& ranks);

  // Divides the world into groups, one for each color, and returns the caller's: its ranks are in
  // the order of their keys, and of their ranks where keys are equal. Nothing, for who passes no
  // color. A collective of the world; errors as in Group. After DEADLINE_EXCEEDED make it again:
  // what this rank passed first counts. Each call makes new groups ("split 2, color 0"), which live
  // in the current epoch.
  //   FAILED_PRECONDITION  also inside a PreventBlock scope, where the others cannot be asked.
  //
  // As MPI_Comm_split does (MPI 4.0, 7.4.2), with nothing for MPI_UNDEFINED.
  absl::StatusOr<std::optional<Group>> Split(std::optional<int> color, int key = 0,
                                             const CallOptions& options = {},
                                             CallSite site = CallSite::Here());

  // Asks for the right to do the named work once per node or once per job. Blocks until this
  // process holds the lease or another one has completed the work. Errors as in Group;
  // DEADLINE_EXCEEDED names the holder.
  absl::StatusOr<Lease> AcquireLease(absl::string_view name, LeaseScope scope,
                                     const CallOptions& options = {});

  // Runs `work` on the first process of each node to ask, and returns its value to all of them; the
  // others wait. `work` returns T or StatusOr<T> (T: see muster/codec.h), or Status or nothing. An
  // error of the work is returned to all; what it throws is INTERNAL. If the process that does the
  // work dies, another one does it: work must bear being repeated. Returns StatusOr<T>, or Status
  // where the work has no value.
  template <class F>
  auto RunOncePerNode(absl::string_view name, F&& work, const CallOptions& options = {}) {
    return RunOnce(name, LeaseScope::kNode, std::forward<F>(work), options);
  }
  // The same, once in the job.
  template <class F>
  auto RunOncePerJob(absl::string_view name, F&& work, const CallOptions& options = {}) {
    return RunOnce(name, LeaseScope::kJob, std::forward<F>(work), options);
  }
  // Runs `work` on that rank and returns its value, or its error with the name of the rank, on
  // every rank. A collective of the world. While the work runs, a PreventBlock scope of this thread
  // is open, since the other ranks will not call the collectives of the work; what it throws is
  // INTERNAL. The others wait for as long as that rank lives (or for the time-out, if one is
  // given): until the work has returned, or the loss of the rank is known, which ends their calls
  // with ABORTED, or the coordinator is given up, with UNAVAILABLE. A value over the coordinator's
  // limit is RESOURCE_EXHAUSTED on every rank.
  template <class F>
  auto RunOnRank(int rank, F&& work, const CallOptions& options = {},
                 CallSite site = CallSite::Here());
  // The same on rank 0.
  template <class F>
  auto RunOnMain(F&& work, const CallOptions& options = {}, CallSite site = CallSite::Here()) {
    return RunOnRank(0, std::forward<F>(work), options, site);
  }

  // OK while every member of the current epoch is there, and the coordinator was not given up;
  // afterwards the error that calls end with.
  absl::Status health() const;

  // Blocks until health() is an error and returns it, or OK after `timeout`.
  absl::Status AwaitFailure(absl::Duration timeout) const;

  // Calls `callback` once, with the error that health() then is, as soon as that is known
  // (CANCELLED where the Job is destroyed first): from a thread of the SDK, or at once in this one,
  // or, in serial mode, in the one that destroys the Job. It must not block, nor call the Job. Of
  // the current epoch: subscribe again after Rejoin().
  [[nodiscard]] Subscription OnFailure(std::function<void(const absl::Status&)> callback) const;

  // Not for programs.
  explicit Job(std::shared_ptr<internal::ControlPlane> control);

 private:
  template <class F>
  auto RunOnce(absl::string_view name, LeaseScope scope, F&& work, const CallOptions& options);

  friend struct internal::JobAccess;

  // The job in one of its epochs.
  struct Epoch;
  std::shared_ptr<Epoch> current() const;
  std::shared_ptr<internal::ControlPlane> control() const;
  void Enter(std::shared_ptr<internal::ControlPlane> control);

  const std::string id_;
  const std::shared_ptr<internal::BlockPreventions> block_preventions_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<Epoch> current_ ABSL_GUARDED_BY(mutex_);
  // Whoever has asked for its members may still look at them. Earlier ones live as long as what was
  // made in them.
  std::shared_ptr<Epoch> previous_ ABSL_GUARDED_BY(mutex_);
  // What the helpers keep; see client/src/job/job_access.h. Last: until it is destroyed it uses the
  // epochs.
  mutable std::shared_ptr<void> helpers_ ABSL_GUARDED_BY(mutex_);
};

namespace internal {

// What leased work returns, and how that travels: StatusOr<T> as T, Status and void as nothing.
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

// Calls `work`. INTERNAL, with its text, if it throws.
absl::Status CallGuarded(absl::FunctionRef<void()> work);
// Calls `work` while a PreventBlock scope is open.
absl::Status CallAlone(Job& job, absl::FunctionRef<void()> work);

// RunWork() in `guard`, which is one of these.
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

// Gives the outcome at the root of the group, an index, to all; an error with the root's name. What
// the others pass is not looked at.
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
