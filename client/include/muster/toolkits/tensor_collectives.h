#ifndef MUSTER_TOOLKITS_TENSOR_COLLECTIVES_H_
#define MUSTER_TOOLKITS_TENSOR_COLLECTIVES_H_

#include "muster/cxx17.h"

#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "muster/call_options.h"
#include "muster/data_type.h"
#include "muster/job.h"
#include "muster/reduce_op.h"
#include "muster/tensor.h"

// Reductions and gathers of tensors and numbers over all ranks of a job, without a Communicator of
// one's own.
//
//   muster::toolkits::AllReduce(job, absl::MakeSpan(gradients));                      // in place
//   absl::StatusOr<int64_t> samples = muster::toolkits::AllReduce(job, count);        // the sum
//
// Every call is a collective of the world: all ranks make it, in the same order. They meet through
// the coordinator first, where it turns out whether they pass the same; a number travels with that,
// a tensor then goes from peer to peer, over a communicator that the first of these calls connects
// and the later ones share: connected again after an error, and in the job's next epoch. The
// meeting is a round trip through the coordinator at each call: a training loop makes a
// Communicator of its own instead. Whoever calls again after DEADLINE_EXCEEDED must pass the same
// shapes; of a number the one that was passed first counts.
//
// Any thread, one call at a time; a second one is refused with FAILED_PRECONDITION. A call blocks
// until this rank's part is done, options.timeout at most. Errors are those of Group and of
// Communicator, and
//   INVALID_ARGUMENT     on every rank: the ranks pass different shapes, types, operations or
//                        names, naming the ranks and what they pass; or one of them passes
//                        something malformed, with its name. Nothing has been changed;
//   UNIMPLEMENTED        on every rank: the backend cannot do this with elements of this type.
//                        Nothing has been changed.
// After other errors tensors may have been changed in part.
//
// In serial mode, and inside a scope of muster/scopes.h, every call returns at once with the
// caller's own value. Tensors may be in the memory of this process; with NCCL also in its GPU's
// (but for an AllGather in a scope, when none of these calls has yet connected the ranks).
namespace muster {
namespace internal {
absl::Status AllReduceNumber(Job& job, void* value, DataType type, ReduceOp op,
                             const CallOptions& options, CallSite site);
absl::Status AverageTensors(Job& job, const std::map<std::string, MutableTensorView>& tensors,
                            const CallOptions& options, CallSite site);
}  // namespace internal
namespace toolkits {

// tensor = op over all ranks' tensors, on every rank. In place. Bitwise operations also work where
// the backend has none. ReduceOp says what integers do.
absl::Status AllReduce(Job& job, const MutableTensorView& tensor, ReduceOp op = ReduceOp::kSum,
                       const CallOptions& options = {}, CallSite site = CallSite::Here());
template <class T>
absl::Status AllReduce(Job& job, absl::Span<T> values, ReduceOp op = ReduceOp::kSum,
                       const CallOptions& options = {}, CallSite site = CallSite::Here()) {
  return AllReduce(job, MutableViewOf(values), op, options, site);
}

// Returns op over all ranks' numbers, folded in rank order: the same bits on every rank. A bool has
// the bitwise operations only.
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
absl::StatusOr<T> AllReduce(Job& job, T value, ReduceOp op = ReduceOp::kSum,
                            const CallOptions& options = {}, CallSite site = CallSite::Here()) {
  const absl::Status status =
      internal::AllReduceNumber(job, &value, DataTypeOf<T>(), op, options, site);
  if (!status.ok()) return status;
  return value;
}

// Returns the tensors of all ranks, each of shape [n, ...], one after another in rank order: a
// tensor of shape [world size * n, ...], in the memory of this process. A scalar counts as [1].
// Where ranks have different numbers of things, see the AllGather() of muster/toolkits/gather.h.
absl::StatusOr<OwnedTensor> AllGather(Job& job, const TensorView& tensor,
                                      const CallOptions& options = {},
                                      CallSite site = CallSite::Here());

// The same into memory of the caller, as large as the whole. `tensor` is this rank's place in
// `all`, or disjoint from it. Inside a scope that place gets this rank's tensor, and the rest is
// left as it was.
absl::Status AllGather(Job& job, const TensorView& tensor, const MutableTensorView& all,
                       const CallOptions& options = {}, CallSite site = CallSite::Here());

// The same for one dimension.
template <class T>
absl::StatusOr<std::vector<std::remove_const_t<T>>> AllGather(Job& job, absl::Span<T> values,
                                                              const CallOptions& options = {},
                                                              CallSite site = CallSite::Here());

// tensor = the mean over all ranks' tensors, on every rank. In place. Of integers it is rounded
// toward zero.
inline absl::Status AverageAcrossProcesses(Job& job, const MutableTensorView& tensor,
                                           const CallOptions& options = {},
                                           CallSite site = CallSite::Here()) {
  return internal::AverageTensors(job, {{"", tensor}}, options, site);
}
template <class T>
absl::Status AverageAcrossProcesses(Job& job, absl::Span<T> values, const CallOptions& options = {},
                                    CallSite site = CallSite::Here()) {
  return internal::AverageTensors(job, {{"", MutableViewOf(values)}}, options, site);
}

// The same for each of a dictionary, whose names must be the same on all ranks; those of one type
// go in one call of the backend. T: a number, a std::vector or absl::Span of numbers, or a
// MutableTensorView. What it holds, or points to, is changed.
template <class T>
absl::Status AverageAcrossProcesses(Job& job, std::map<std::string, T>* tensors,
                                    const CallOptions& options = {},
                                    CallSite site = CallSite::Here()) {
  std::map<std::string, MutableTensorView> views;
  for (auto& [name, tensor] : *tensors) views.emplace(name, MutableViewOf(tensor));
  return internal::AverageTensors(job, views, options, site);
}

template <class T>
absl::StatusOr<std::vector<std::remove_const_t<T>>> AllGather(Job& job, absl::Span<T> values,
                                                              const CallOptions& options,
                                                              CallSite site) {
  const absl::Span<const T> mine = values;
  const absl::StatusOr<OwnedTensor> all =
      AllGather(job, ViewOf(mine, {static_cast<int64_t>(mine.size())}), options, site);
  if (!all.ok()) return all.status();
  const auto elements = all->view.As<std::remove_const_t<T>>();
  if (!elements.ok()) return elements.status();
  return std::vector<std::remove_const_t<T>>(elements->begin(), elements->end());
}

}  // namespace toolkits
}  // namespace muster

#endif  // MUSTER_TOOLKITS_TENSOR_COLLECTIVES_H_
