#ifndef MUSTER_TOOLKITS_GATHER_H_
#define MUSTER_TOOLKITS_GATHER_H_

#include "muster/cxx17.h"

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/call_options.h"
#include "muster/job.h"
#include "muster/toolkits/run_on.h"

// Small objects of all ranks, through the coordinator:
//
//   absl::StatusOr<std::vector<std::string>> hosts =
//       muster::toolkits::AllGather(job, muster::toolkits::GetHostname());
//
// All functions are collectives of the world, with the errors of Group. In serial mode and inside a
// scope they return the caller's own value. For T see muster/codec.h, and for the types that
// functions may return muster/toolkits/run_on.h. Each call takes one or more round trips to the
// coordinator, so do not use it in inner loops.
namespace muster {
namespace toolkits {

// Returns the value of `src` on every rank.
template <class T>
absl::StatusOr<internal::Returned<T>> Broadcast(const Job& job, const T& value, int src = 0,
                                                const CallOptions& options = {},
                                                CallSite site = CallSite::Here()) {
  return job.Broadcast(value, src, options, site);
}

// Returns the numbers, or the strings, of all ranks in rank order.
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
absl::StatusOr<std::vector<T>> AllGather(const Job& job, T value, const CallOptions& options = {},
                                         CallSite site = CallSite::Here()) {
  return job.AllGather(value, options, site);
}
inline absl::StatusOr<std::vector<std::string>> AllGather(const Job& job, const std::string& value,
                                                          const CallOptions& options = {},
                                                          CallSite site = CallSite::Here()) {
  return job.AllGather(value, options, site);
}

}  // namespace toolkits
namespace internal {

template <class F>
WorkReturn<F> RunGuarded(F&& work) {
  std::optional<WorkReturn<F>> result;
  const absl::Status thrown = CallGuarded([&] { result.emplace(RunWork(std::forward<F>(work))); });
  if (!thrown.ok()) return thrown;
  return *std::move(result);
}

// The outcomes of the function of every rank, at one rank: the values in rank order, or the first
// error with its rank's name.
using Gathered = absl::StatusOr<std::vector<std::string>>;

// Returns the outcomes at `rank`, and an empty list on other ranks. An error of any rank is
// returned on all ranks.
Gathered GatherOrFail(const Job& job, int rank, const absl::StatusOr<std::string>& mine,
                      const CallOptions& options, CallSite site);

// Gathers the outcomes on rank 0, and returns the result of `reduce` there on every rank.
absl::StatusOr<std::string> GatherAndReduce(
    const Job& job, const absl::StatusOr<std::string>& mine,
    absl::FunctionRef<absl::StatusOr<std::string>(const std::vector<std::string>& gathered)> reduce,
    const CallOptions& options, CallSite site);

}  // namespace internal
namespace toolkits {

// Runs `fn` on every rank. Returns the values in rank order at `rank`, and an empty list on other
// ranks. If it fails on a rank, all ranks get that error with the rank's name.
template <class F>
auto GatherFromAllRanks(Job& job, F&& fn, int rank = 0, const CallOptions& options = {},
                        CallSite site = CallSite::Here()) {
  using T = typename internal::WorkReturn<F>::value_type;
  const auto mine = internal::EncodeOutcome(internal::RunGuarded(std::forward<F>(fn)));
  return internal::DecodeAll<T>(internal::GatherOrFail(job, rank, mine, options, site));
}

// Does the same with a function that returns a number.
template <class F>
auto GatherScalarFromAllRanks(Job& job, F&& fn, int rank = 0, const CallOptions& options = {},
                              CallSite site = CallSite::Here()) {
  using T = typename internal::WorkReturn<F>::value_type;
  static_assert(std::is_arithmetic_v<T>, "the function must return a number");
  return GatherFromAllRanks(job, std::forward<F>(fn), rank, options, site);
}

// Runs `compute` on every rank, and `reduce` on rank 0 with the list of all values
// (const std::vector<T>&). Returns the value of `reduce` on every rank. If one of them fails, all
// ranks get that error.
template <class F, class G>
auto ReduceAndBroadcast(Job& job, F&& compute, G&& reduce, const CallOptions& options = {},
                        CallSite site = CallSite::Here()) {
  using Values = std::vector<typename internal::WorkReturn<F>::value_type>;
  using Return =
      typename internal::WorkResult<std::decay_t<std::invoke_result_t<G&, const Values&>>>::Return;
  const auto mine = internal::EncodeOutcome(internal::RunGuarded(std::forward<F>(compute)));
  const auto reduce_gathered =
      [&](const std::vector<std::string>& gathered) -> absl::StatusOr<std::string> {
    const auto values = internal::DecodeAll<typename Values::value_type>(gathered);
    if (!values.ok()) return values.status();
    return internal::EncodeOutcome(internal::RunAlone(job, [&] { return reduce(*values); }));
  };
  return internal::DecodeOutcome<Return>(
      internal::GatherAndReduce(job, mine, reduce_gathered, options, site));
}

}  // namespace toolkits
}  // namespace muster

#endif  // MUSTER_TOOLKITS_GATHER_H_
