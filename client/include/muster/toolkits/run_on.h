#ifndef MUSTER_TOOLKITS_RUN_ON_H_
#define MUSTER_TOOLKITS_RUN_ON_H_

#include "muster/cxx17.h"

#include <optional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/call_options.h"
#include "muster/job.h"
#include "muster/scopes.h"

// Functions that run on some of the ranks:
//
//   absl::StatusOr<std::string> id =
//       muster::toolkits::MainOnly(job, [] { return std::string("run 7"); });  // on every rank
//
// A function returns T, StatusOr<T>, Status or void. The helper returns StatusOr<T>, or Status if
// there is no value. If other ranks get an error of the function, it has the name of the rank that
// ran it; an exception becomes INTERNAL. While the function runs, a PreventBlock scope is open
// (muster/scopes.h): its collectives do not wait for other ranks.
//
// Ranks that wait for a function of another rank wait as long as that rank lives, unless a time-out
// is given. If that rank is lost, their calls return ABORTED. Other errors are those of Group. In
// serial mode the function runs in this process.
//
// Every call that waits takes a round trip to the coordinator. Use these functions when a program
// starts and at its milestones, not in inner loops.
namespace muster {
namespace toolkits {

// A scope for a block that only rank 0 runs; see muster/scopes.h.
using ZeroOnly = MainScope;

// Blocks until all ranks have called it.
inline absl::Status Barrier(const Job& job, absl::string_view label = "",
                            const CallOptions& options = {}, CallSite site = CallSite::Here()) {
  return job.Barrier(label, options, site);
}
inline absl::Status Synchronize(const Job& job, const CallOptions& options = {},
                                CallSite site = CallSite::Here()) {
  return job.Barrier("", options, site);
}

// Runs `fn` on `rank`, and returns its value on every rank. For T see muster/codec.h.
template <class F>
auto ComputeAndBroadcast(Job& job, F&& fn, int rank = 0, const CallOptions& options = {},
                         CallSite site = CallSite::Here()) {
  return job.RunOnRank(rank, std::forward<F>(fn), options, site);
}

// Runs `fn` on rank 0, and returns its value on every rank.
template <class F>
auto MainOnly(Job& job, F&& fn, const CallOptions& options = {}, CallSite site = CallSite::Here()) {
  return job.RunOnMain(std::forward<F>(fn), options, site);
}

// As MainOnly().
template <class F>
auto RunOnMain(Job& job, F&& fn) {
  return job.RunOnMain(std::forward<F>(fn));
}

// Runs `fn` on rank 0 and then `post` on the other ranks, and on rank 0 too if `run_post_on_main`.
// Returns the value of `fn` on every rank. Drops the value of `post`, and returns its error on that
// rank only. If `fn` fails, `post` does not run.
template <class F, class P, class = std::enable_if_t<std::is_invocable_v<P>>>
auto RunOnMain(Job& job, F&& fn, P&& post, bool run_post_on_main = false,
               const CallOptions& options = {}, CallSite site = CallSite::Here());

}  // namespace toolkits
namespace internal {

// The type of a result that only some ranks get: StatusOr<std::optional<T>>, or Status if there is
// no value.
template <class Return>
struct Partial {
  using Type = absl::StatusOr<std::optional<typename Return::value_type>>;
};
template <>
struct Partial<absl::Status> {
  using Type = absl::Status;
};
template <class F>
using PartialReturn = typename Partial<WorkReturn<F>>::Type;

// Returns the result of a rank that gets no value.
template <class R>
R Nothing() {
  if constexpr (std::is_same_v<R, absl::Status>) {
    return absl::OkStatus();
  } else {
    return R(std::nullopt);
  }
}

// Returns the rank's own outcome as a partial result.
template <class R, class Return>
R Something(Return value) {
  if constexpr (std::is_same_v<R, absl::Status>) {
    return value;
  } else {
    if (!value.ok()) return value.status();
    return R(std::make_optional(*std::move(value)));
  }
}

inline absl::Status StatusOf(const absl::Status& status) { return status; }
template <class T>
absl::Status StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

// Blocks until local rank 0 of the node has run its function. Returns its error, with its name, on
// all ranks of the node.
absl::Status AwaitNodeRunner(Job& job, const absl::Status& mine, const CallOptions& options,
                             CallSite site);
// Does the same for a rank of the job.
absl::Status AwaitRunner(Job& job, int rank, const absl::Status& mine, const CallOptions& options,
                         CallSite site);
// Blocks until all ranks have called it. Returns the first error of a rank, with its name.
absl::Status AwaitFirst(Job& job, const absl::Status& mine, const CallOptions& options,
                        CallSite site);
// Returns INVALID_ARGUMENT if there is no such rank, or OK.
absl::Status CheckRank(const Job& job, int rank, absl::string_view operation);

}  // namespace internal
namespace toolkits {

struct OneRankOptions {
  int rank = 0;
  // Whether the other ranks wait until that rank has run the function, and get its error.
  bool with_barrier = false;
  CallOptions call;
};

// Runs `fn` on one rank, which gets its value. The other ranks get nullopt. INVALID_ARGUMENT: there
// is no such rank.
template <class F>
internal::PartialReturn<F> OneRankOnly(Job& job, F&& fn, const OneRankOptions& options = {},
                                       CallSite site = CallSite::Here()) {
  using Result = internal::PartialReturn<F>;
  const absl::Status known = internal::CheckRank(job, options.rank, "OneRankOnly");
  if (!known.ok()) return known;
  Result result = internal::Nothing<Result>();
  if (job.rank() == options.rank || job.prevents_block()) {
    result = internal::Something<Result>(internal::RunAlone(job, std::forward<F>(fn)));
  }
  if (!options.with_barrier) return result;
  const absl::Status shared =
      internal::AwaitRunner(job, options.rank, internal::StatusOf(result), options.call, site);
  if (!shared.ok()) return shared;
  return result;
}

// Runs `fn` once on each node, on local rank 0, while the other ranks of the node wait. Local rank
// 0 gets its value, and the others get nullopt. The value stays in its process, so T may be any
// type, even a move-only one. Job::RunOncePerNode() differs: there the first process to call it
// runs the function, and all processes of the node get the value.
template <class F>
internal::PartialReturn<F> RunOnLocalRankZero(Job& job, F&& fn, const CallOptions& options = {},
                                              CallSite site = CallSite::Here()) {
  using Result = internal::PartialReturn<F>;
  Result result = internal::Nothing<Result>();
  if (job.local_rank() == 0 || job.prevents_block()) {
    result = internal::Something<Result>(internal::RunAlone(job, std::forward<F>(fn)));
  }
  const absl::Status shared =
      internal::AwaitNodeRunner(job, internal::StatusOf(result), options, site);
  if (!shared.ok()) return shared;
  return result;
}

// Does the same, and then runs `post` on the other ranks of the node, for instance to load what
// `fn` has prepared. Both functions return the same type. With `run_post_on_all`, local rank 0 runs
// `post` too. Each rank gets the value of the function that it ran last. An error of `post` is
// returned on that rank only.
template <class F, class P, class = std::enable_if_t<std::is_invocable_v<P>>>
internal::WorkReturn<P> RunOnLocalRankZero(Job& job, F&& fn, P&& post, bool run_post_on_all = false,
                                           const CallOptions& options = {},
                                           CallSite site = CallSite::Here()) {
  const bool runs = job.local_rank() == 0 || job.prevents_block();
  std::optional<internal::WorkReturn<F>> own;
  if (runs) own.emplace(internal::RunAlone(job, std::forward<F>(fn)));
  const absl::Status mine = runs ? internal::StatusOf(*own) : absl::OkStatus();
  const absl::Status shared = internal::AwaitNodeRunner(job, mine, options, site);
  if (!shared.ok()) return shared;
  if constexpr (std::is_same_v<internal::WorkReturn<F>, internal::WorkReturn<P>>) {
    if (runs && !run_post_on_all) return *std::move(own);
  } else if (runs && !run_post_on_all) {
    return absl::InvalidArgumentError(
        "RunOnLocalRankZero: where the runner is to return the function's value, the function and "
        "post "
        "must return the same type");
  }
  return internal::RunAlone(job, std::forward<P>(post));
}

// Runs `fn` on local rank 0 of each node, which gets its value. The other ranks get nullopt at
// once.
template <class F>
internal::PartialReturn<F> OncePerNode(Job& job, F&& fn) {
  using Result = internal::PartialReturn<F>;
  if (job.local_rank() != 0 && !job.prevents_block()) return internal::Nothing<Result>();
  return internal::Something<Result>(internal::RunAlone(job, std::forward<F>(fn)));
}

// Runs `fn` on the ranks that pass true (rank 0, or one rank of each node), and, after all of them
// have returned, on the other ranks. If it fails on one of the former, all ranks get that error,
// and the others do not run it. An error on one of the latter is returned on that rank only.
template <class F>
internal::WorkReturn<F> ZeroFirst(Job& job, bool is_main, F&& fn, const CallOptions& options = {},
                                  CallSite site = CallSite::Here()) {
  std::optional<internal::WorkReturn<F>> own;
  if (is_main) own.emplace(internal::RunAlone(job, fn));
  const absl::Status mine = is_main ? internal::StatusOf(*own) : absl::OkStatus();
  const absl::Status first = internal::AwaitFirst(job, mine, options, site);
  if (!first.ok()) return first;
  if (is_main) return *std::move(own);
  return internal::RunAlone(job, std::forward<F>(fn));
}

template <class F, class P, class>
auto RunOnMain(Job& job, F&& fn, P&& post, bool run_post_on_main, const CallOptions& options,
               CallSite site) {
  using Return = internal::WorkReturn<F>;
  const bool ran = job.is_main() || job.prevents_block();
  Return value = job.RunOnMain(std::forward<F>(fn), options, site);
  if (!value.ok() || (ran && !run_post_on_main)) return value;
  const absl::Status posted = internal::StatusOf(internal::RunAlone(job, std::forward<P>(post)));
  return posted.ok() ? std::move(value) : Return(posted);
}

}  // namespace toolkits
}  // namespace muster

#endif  // MUSTER_TOOLKITS_RUN_ON_H_
