#ifndef MUSTER_JOB_H_
#define MUSTER_JOB_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "muster/call_options.h"
#include "muster/codec.h"
#include "muster/group.h"
#include "muster/job_options.h"
#include "muster/lease.h"

namespace muster {

// A process's membership in its job: rank, collectives of small objects, leases. Thread-safe.
//
//   absl::StatusOr<std::unique_ptr<muster::Job>> job =
//       muster::Job::Join(muster::JobOptions::FromEnvironment());
//   if (!job.ok()) return Fail(job.status());
//   ...
//   absl::Status left = (*job)->Leave();
//
// When any member of the job is lost, every waiting and later call of this process ends with
// ABORTED and one text that names the lost member's rank, node, pid and cause.
//
// A process that called fork() cannot use a Job it had before: calls in the child are refused.
class Job {
 public:
  // Joins the job and blocks until all its members have (options.timeout at most). Takes an error
  // too, so that JobOptions::FromEnvironment() can be passed as it is.
  //
  // Errors say in which phase joining ended: resolving the coordinator's name, connecting,
  // registering, or waiting for members (m of n have joined). A name that does not resolve yet and
  // a coordinator that does not answer yet are tried again until the deadline.
  //   DEADLINE_EXCEEDED, UNAVAILABLE, INVALID_ARGUMENT; FAILED_PRECONDITION (world sizes that
  //   disagree; the job is full, failed or finished; versions of SDK and daemon that do not fit);
  //   NOT_FOUND (another job's coordinator); ALREADY_EXISTS (the rank asked for is taken);
  //   CANCELLED.
  static absl::StatusOr<std::unique_ptr<Job>> Join(absl::StatusOr<JobOptions> options,
                                                   Cancellation* cancellation = nullptr);

  // Without Leave() before it, the other members see this one as lost. Waits for nobody.
  ~Job();

  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Says that this process needs nothing more, and blocks until every member is leaving or lost: so
  // nobody takes away what another still needs. Collectives and leases after it are refused with
  // FAILED_PRECONDITION. Idempotent. OK also when a member was lost: a leaving process needs
  // nothing of it. DEADLINE_EXCEEDED names who is not leaving; this process then counts as lost.
  absl::Status Leave(const CallOptions& options = {});

  int rank() const { return self().rank; }
  int world_size() const { return world_.size(); }
  int local_rank() const { return self().local_rank; }
  // Number of processes on this node.
  int local_world_size() const;
  int node_rank() const { return self().node_rank; }
  int num_nodes() const;
  const std::string& node_id() const { return self().node_id; }
  // Rank 0.
  bool is_main() const { return rank() == 0; }
  // False in serial mode.
  bool is_distributed() const;
  const std::string& id() const;
  // Every member, in rank order, and this one.
  const std::vector<Member>& members() const;
  const Member& self() const;

  // All ranks.
  const Group& world() const { return world_; }

  // The collectives of the world; see Group.
  absl::Status Barrier(absl::string_view label = "", const CallOptions& options = {}) const {
    return world_.Barrier(label, options);
  }
  template <class T>
  absl::StatusOr<T> Broadcast(const T& value, int root = 0, const CallOptions& options = {}) const {
    return world_.Broadcast(value, root, options);
  }
  template <class T>
  absl::StatusOr<std::vector<T>> Gather(const T& value, int root = 0,
                                        const CallOptions& options = {}) const {
    return world_.Gather(value, root, options);
  }
  template <class T>
  absl::StatusOr<std::vector<T>> AllGather(const T& value, const CallOptions& options = {}) const {
    return world_.AllGather(value, options);
  }

  // A group of some ranks, in the order given, which all of them must create alike. Local: does not
  // block. Two groups of one name must be the same list or share no rank, and asking again for the
  // same one returns the same group. INVALID_ARGUMENT: an empty name or list, a rank twice, out of
  // range, or without the caller's own.
  absl::StatusOr<Group> NewGroup(absl::string_view name, const std::vector<int>& ranks);

  // Asks for the right to do the named work once per node or once per job. Blocks until this
  // process holds the lease or another one has completed the work. Errors as in Group;
  // DEADLINE_EXCEEDED names the holder.
  absl::StatusOr<Lease> AcquireLease(absl::string_view name, LeaseScope scope,
                                     const CallOptions& options = {});

  // Runs `work` on the first process of each node to ask, and returns its value to all of them; the
  // others wait. `work` returns T or StatusOr<T> (T: see muster/codec.h), or Status or nothing. An
  // error of the work is returned to all. If the process that does the work dies, another one does
  // it: work must bear being repeated. Returns StatusOr<T>, or Status where the work has no value.
  template <class F>
  auto RunOncePerNode(absl::string_view name, F&& work, const CallOptions& options = {}) {
    return RunOnce(name, LeaseScope::kNode, std::forward<F>(work), options);
  }
  // The same, once in the job.
  template <class F>
  auto RunOncePerJob(absl::string_view name, F&& work, const CallOptions& options = {}) {
    return RunOnce(name, LeaseScope::kJob, std::forward<F>(work), options);
  }
  // Runs `work` on rank 0 and returns its value, or its error, on every rank. A collective of the
  // world. A value over the coordinator's limit is RESOURCE_EXHAUSTED on every rank.
  template <class F>
  auto RunOnMain(F&& work, const CallOptions& options = {});

  // OK while every member is there; afterwards the error that calls end with.
  absl::Status health() const;

  // Blocks until a member is lost and returns that error, or OK after `timeout`: what a data plane
  // asks when its connection to a peer breaks, to learn whose fault it was.
  absl::Status AwaitFailure(absl::Duration timeout) const;

  // Calls `callback` once, with the error that names the lost member, as soon as that is known:
  // from a thread of the SDK, or at once in this one. It must not block, nor call the Job.
  [[nodiscard]] Subscription OnFailure(std::function<void(const absl::Status&)> callback) const;

  // Not for programs.
  explicit Job(std::unique_ptr<internal::ControlPlane> control);

 private:
  template <class F>
  auto RunOnce(absl::string_view name, LeaseScope scope, F&& work, const CallOptions& options);

  // Gives rank 0's `outcome` to every rank.
  absl::StatusOr<std::string> ShareFromMain(const absl::StatusOr<std::string>& outcome,
                                            const CallOptions& options);

  std::unique_ptr<internal::ControlPlane> control_;
  Group world_;
  absl::Mutex mutex_;
  std::map<std::string, Group> groups_ ABSL_GUARDED_BY(mutex_);
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
  Return value = internal::RunWork(std::forward<F>(work));
  const absl::StatusOr<std::string> outcome = internal::EncodeOutcome(value);
  const absl::Status published = lease->Publish(outcome);
  if (!published.ok()) return Return(published);
  return value;
}

template <class F>
auto Job::RunOnMain(F&& work, const CallOptions& options) {
  using Return = internal::WorkReturn<F>;
  absl::StatusOr<std::string> outcome = std::string();
  if (is_main()) outcome = internal::EncodeOutcome(internal::RunWork(std::forward<F>(work)));
  return internal::DecodeOutcome<Return>(ShareFromMain(outcome, options));
}

}  // namespace muster

#endif  // MUSTER_JOB_H_
