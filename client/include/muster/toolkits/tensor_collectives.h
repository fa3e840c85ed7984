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

// Reductions and gathers of tensors and numbers over all ranks of a job, for programs without a
// Communicator:
//
//   absl::Status reduced = muster::toolkits::AllReduce(job, absl::MakeSpan(gradients));  // sum
//   if (!reduced.ok()) return reduced;
//   absl::StatusOr<int64_t> samples = muster::toolkits::AllReduce(job, count);  // the sum
//
// Every call is a collective of the world: all ranks make the same calls in the same order. The
// ranks first compare their arguments through the coordinator. A number travels with that. A tensor
// then travels from rank to rank, over a communicator that these calls share. The first call
// connects it; a later call connects it again after an error or in a new epoch. Because of the
// round trip to the coordinator, training loops should use a Communicator of their own. To retry
// after DEADLINE_EXCEEDED, pass the same shapes; for a number, the first value that was passed is
// used.
//
// Call from any thread, but make one call at a time: a second one returns FAILED_PRECONDITION. A
// call blocks until this rank's part is done, for at most the time-out. Errors are those of Group
// and Communicator, and on every rank
//   INVALID_ARGUMENT  the ranks pass different shapes, types, operations or names (names the ranks
//                     and their arguments), or a rank passes a malformed tensor;
//   UNIMPLEMENTED     the backend does not support the operation for this type.
// After these two errors the tensors are unchanged. After other errors they may be partly changed.
//
// In serial mode, and inside a scope of muster/scopes.h, every call returns the caller's own value
// at once. Tensors are in host memory, or, with NCCL, in the memory of this process's GPU.
// Exception: an AllGather inside a scope needs host memory until one of these calls has connected
// the ranks.
namespace muster {
namespace internal {
absl::Status AllReduceNumber(Job& job, void* value, DataType type, ReduceOp op,
                             const CallOptions& options, CallSite site);
absl::Status AverageTensors(Job& job, const std::map<std::string, MutableTensorView>& tensors,
                            const CallOptions& options, CallSite site);
}  // namespace internal
namespace toolkits {

// Combines the tensors of all ranks by `op`, in place, on every rank. Bitwise operations work with
// every backend. For integers see ReduceOp.
absl::Status AllReduce(Job& job, const MutableTensorView& tensor, ReduceOp op = ReduceOp::kSum,
                       const CallOptions& options = {}, CallSite site = CallSite::Here());
template <class T>
absl::Status AllReduce(Job& job, absl::Span<T> values, ReduceOp op = ReduceOp::kSum,
                       const CallOptions& options = {}, CallSite site = CallSite::Here()) {
  return AllReduce(job, MutableViewOf(values), op, options, site);
}

// Returns the numbers of all ranks, combined by `op` in rank order: the same bits on every rank.
// For bool only the bitwise operations are supported.
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
absl::StatusOr<T> AllReduce(Job& job, T value, ReduceOp op = ReduceOp::kSum,
                            const CallOptions& options = {}, CallSite site = CallSite::Here()) {
  const absl::Status status =
      internal::AllReduceNumber(job, &value, DataTypeOf<T>(), op, options, site);
  if (!status.ok()) return status;
  return value;
}

// Returns the tensors of all ranks, each of shape [n, ...], concatenated in rank order: a tensor of
// shape [world size * n, ...] in host memory. A scalar counts as [1]. If the ranks have different
// numbers of elements, use AllGather() of muster/toolkits/gather.h.
absl::StatusOr<OwnedTensor> AllGather(Job& job, const TensorView& tensor,
                                      const CallOptions& options = {},
                                      CallSite site = CallSite::Here());

// Does the same into memory of the caller, which has room for all tensors. `tensor` is this rank's
// place in `all`, or does not overlap it. Inside a scope, only this rank's place is written.
absl::Status AllGather(Job& job, const TensorView& tensor, const MutableTensorView& all,
                       const CallOptions& options = {}, CallSite site = CallSite::Here());

// Does the same for one dimension.
template <class T>
absl::StatusOr<std::vector<std::remove_const_t<T>>> AllGather(Job& job, absl::Span<T> values,
                                                              const CallOptions& options = {},
                                                              CallSite site = CallSite::Here());

// Averages the tensors of all ranks, in place, on every rank. Rounds integers toward zero.
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

// Averages each tensor of a map, whose names are the same on all ranks. Tensors of one type travel
// in one call of the backend. T: a number, a std::vector or absl::Span of numbers, or a
// MutableTensorView; changed in place.
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
