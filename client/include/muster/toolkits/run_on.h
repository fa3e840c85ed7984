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

// Functions that run on some of the ranks, and blocks.
//
// A function returns T or StatusOr<T>, Status or nothing; the helper returns StatusOr<T>, or Status
// where there is no value. Where an error of the function reaches other ranks, it does so with the
// name of the rank on which it failed, and what the function throws is INTERNAL. While it runs, a
// PreventBlock scope is open (muster/scopes.h): the collectives in it do not wait for the others.
//
// Where ranks wait for a function that another one runs, they wait as long as that rank lives,
// unless a time-out is given: until the function has returned, or the loss of its process is known,
// which ends their calls with ABORTED. Other errors are those of Group. In serial mode the function
// runs here.
//
// Whatever waits here goes through the coordinator: a round trip for each call, and for all ranks
// of a large job at one place. That is for the beginning of a program and its milestones, not for
// its innermost loop.
namespace muster {
namespace toolkits {

// A block for the main process alone: muster/scopes.h.
using ZeroOnly = MainScope;

// Waits for all ranks.
inline absl::Status Barrier(const Job& job, absl::string_view label = "",
                            const CallOptions& options = {}, CallSite site = CallSite::Here()) {
  return job.Barrier(label, options, site);
}
inline absl::Status Synchronize(const Job& job, const CallOptions& options = {},
                                CallSite site = CallSite::Here()) {
  return job.Barrier("", options, site);
}

// Runs `fn` on `rank`; its value goes to all. T: see muster/codec.h.
template <class F>
auto ComputeAndBroadcast(Job& job, F&& fn, int rank = 0, const CallOptions& options = {},
                         CallSite site = CallSite::Here()) {
  return job.RunOnRank(rank, std::forward<F>(fn), options, site);
}

// Runs `fn` on the main process; its value goes to all.
template <class F>
auto MainOnly(Job& job, F&& fn, const CallOptions& options = {}, CallSite site = CallSite::Here()) {
  return job.RunOnMain(std::forward<F>(fn), options, site);
}

// The same.
template <class F>
auto RunOnMain(Job& job, F&& fn) {
  return job.RunOnMain(std::forward<F>(fn));
}

// Runs `fn` on the main process, and then `post` on the others, and on the main process if asked.
// Returns fn's value on every rank; post's is dropped, an error of it is that rank's alone. Without
// a value of `fn` there is no post.
template <class F, class P, class = std::enable_if_t<std::is_invocable_v<P>>>
auto RunOnMain(Job& job, F&& fn, P&& post, bool run_post_on_main = false,
               const CallOptions& options = {}, CallSite site = CallSite::Here());

}  // namespace toolkits
namespace internal {

// What only some ranks get: StatusOr<std::optional<T>>, or Status where there is no value.
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

// The return of a rank that gets nothing.
template <class R>
R Nothing() {
  if constexpr (std::is_same_v<R, absl::Status>) {
    return absl::OkStatus();
  } else {
    return R(std::nullopt);
  }
}

// A rank's own outcome as a partial one.
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

// Waits on the node until its local rank 0 has told how its function ended; the same error, with
// its name, for all of the node.
absl::Status AwaitNodeRunner(Job& job, const absl::Status& mine, const CallOptions& options,
                             CallSite site);
// The same for a rank of the job.
absl::Status AwaitRunner(Job& job, int rank, const absl::Status& mine, const CallOptions& options,
                         CallSite site);
// Waits for all, and returns the first error that a rank had, with its name.
absl::Status AwaitFirst(Job& job, const absl::Status& mine, const CallOptions& options,
                        CallSite site);
// INVALID_ARGUMENT: no such rank.
absl::Status CheckRank(const Job& job, int rank, absl::string_view operation);

}  // namespace internal
namespace toolkits {

struct OneRankOptions {
  int rank = 0;
  // Whether the others wait until that rank has run the function, and learn how it ended.
  bool with_barrier = false;
  CallOptions call;
};

// Runs `fn` on one rank, which gets its value; the others get nullopt. INVALID_ARGUMENT: no such
// rank.
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

// Runs `fn` once on each node, on local rank 0, while the others of the node wait. The one that ran
// it gets its value, the others nullopt. No value leaves its process, so T may be of any kind, and
// move-only. Job::RunOncePerNode() is another thing: the first process to come runs the function,
// and its value is for all of the node.
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

// The same, and then `post`, which returns what `fn` returns, on the others of the node: to load
// what `fn` has prepared, say. Each gets the value of what it ran last; with `run_post_on_all`
// everyone runs `post` and gets its value. An error of post is that rank's alone.
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

// Runs `fn` on local rank 0 of each node, which gets its value; the others get nullopt and wait for
// nothing.
template <class F>
internal::PartialReturn<F> OncePerNode(Job& job, F&& fn) {
  using Result = internal::PartialReturn<F>;
  if (job.local_rank() != 0 && !job.prevents_block()) return internal::Nothing<Result>();
  return internal::Something<Result>(internal::RunAlone(job, std::forward<F>(fn)));
}

// Runs `fn` first on the ranks that pass true (the main process, or one of each node), and when all
// of them have ended, on the others. If it fails on one of the first, all get that error and the
// others do not run it; an error on one of the others is that rank's alone.
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
