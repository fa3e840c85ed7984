#include "muster/communicator.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "client/c/boundary.h"
#include "client/c/handles.h"
#include "muster/c.h"
#include "muster/tensor.h"

namespace muster::internal::c {
namespace {

// The arguments that all operations of a communicator share.
struct Operation {
  absl::string_view name;
  muster_communicator* on;
  muster_type type;
  const muster_call_options* options;
};

// Runs `body` with the communicator, the type and the options of the call.
template <class F>
muster_status* Run(const Operation& operation, F body) {
  return RunForC([&]() -> absl::Status {
    absl::Status checked = CheckNotNull(operation.name, {{"communicator", operation.on}});
    if (!checked.ok()) return checked;
    const absl::StatusOr<DataType> type = TypeOf(operation.name, operation.type);
    if (!type.ok()) return type.status();
    const absl::StatusOr<Options> read = ReadOptions(operation.options);
    if (!read.ok()) return read.status();
    return body(*operation.on->communicator, *type, read->call);
  });
}

// Returns a one-dimensional view of the caller's memory, with `parts` parts of `count` elements.
// Stores an error in `status` if the arguments are invalid and `status` is still OK.
MutableTensorView View(absl::string_view call, absl::string_view name, const void* data,
                       size_t count, DataType type, absl::Status* status, size_t parts = 1) {
  status->Update(CheckCount(call, count, type));
  if (parts > 1 && count > SIZE_MAX / SizeOf(type) / parts) {
    status->Update(absl::InvalidArgumentError(absl::StrCat(
        call, ": ", parts, " parts of ", count, " elements are more than any memory holds")));
  }
  if (!status->ok()) return {};
  const size_t all = count * parts;
  status->Update(CheckBytes(call, name, data, all * SizeOf(type)));
  return {type, {static_cast<int64_t>(all)}, const_cast<void*>(data), all * SizeOf(type)};
}

absl::Status Connect(const Group& group, const char* backend, const char* interface_name,
                     const Options& options, muster_communicator** communicator) {
  CommunicatorOptions wanted;
  if (backend != nullptr) wanted.backend = backend;
  if (interface_name != nullptr) wanted.interface = interface_name;
  wanted.timeout = options.call.timeout;
  wanted.cancellation = options.call.cancellation;
  return StoreHandle(Communicator::Create(group, wanted), communicator);
}

}  // namespace
}  // namespace muster::internal::c

using muster::Communicator;
using namespace muster;
using namespace muster::internal::c;

extern "C" {

muster_status* muster_communicator_new(muster_group* group, const char* backend,
                                       const char* interface_name,
                                       const muster_call_options* options,
                                       muster_communicator** communicator) {
  return RunForC([&]() -> absl::Status {
    absl::Status checked =
        CheckNotNull("muster_communicator_new", {{"group", group}, {"communicator", communicator}});
    if (!checked.ok()) return checked;
    const absl::StatusOr<Options> read = ReadOptions(options);
    if (!read.ok()) return read.status();
    return Connect(group->group, backend, interface_name, *read, communicator);
  });
}

void muster_communicator_free(muster_communicator* communicator) { delete communicator; }

int muster_communicator_rank(const muster_communicator* communicator) {
  return communicator == nullptr ? -1 : communicator->communicator->rank();
}
int muster_communicator_size(const muster_communicator* communicator) {
  return communicator == nullptr ? -1 : communicator->communicator->size();
}
const char* muster_communicator_backend(const muster_communicator* communicator) {
  return communicator == nullptr ? nullptr : communicator->communicator->backend().c_str();
}

muster_status* muster_communicator_all_reduce(muster_communicator* communicator, const void* in,
                                              void* out, size_t count, muster_type type,
                                              muster_op op, const muster_call_options* options) {
  constexpr char kCall[] = "muster_communicator_all_reduce";
  return Run({kCall, communicator, type, options},
             [&](Communicator& on, DataType of, const CallOptions& with) -> absl::Status {
               const absl::StatusOr<ReduceOp> reduce = OpOf(kCall, op);
               absl::Status checked = reduce.status();
               const TensorView from = View(kCall, "in", in, count, of, &checked);
               const MutableTensorView to = View(kCall, "out", out, count, of, &checked);
               return checked.ok() ? on.AllReduce(from, to, *reduce, with) : checked;
             });
}

muster_status* muster_communicator_all_reduce_coalesced(muster_communicator* communicator,
                                                        void* const* arrays, const size_t* counts,
                                                        const muster_type* types,
                                                        size_t array_count, muster_op op,
                                                        const muster_call_options* options) {
  constexpr char kCall[] = "muster_communicator_all_reduce_coalesced";
  // No type belongs to the whole call.
  return Run({kCall, communicator, MUSTER_UINT8, options},
             [&](Communicator& on, DataType, const CallOptions& with) -> absl::Status {
               const absl::StatusOr<ReduceOp> reduce = OpOf(kCall, op);
               absl::Status checked = reduce.status();
               if (array_count > 0) {
                 checked.Update(CheckNotNull(
                     kCall, {{"arrays", arrays}, {"counts", counts}, {"types", types}}));
               }
               std::vector<MutableTensorView> views;
               for (size_t i = 0; checked.ok() && i < array_count; ++i) {
                 const absl::StatusOr<DataType> type = TypeOf(kCall, types[i]);
                 if (!type.ok()) return type.status();
                 views.push_back(View(kCall, absl::StrCat("arrays[", i, "]"), arrays[i], counts[i],
                                      *type, &checked));
               }
               return checked.ok() ? on.AllReduceCoalesced(views, *reduce, with) : checked;
             });
}

muster_status* muster_communicator_broadcast(muster_communicator* communicator, void* data,
                                             size_t count, muster_type type, int root,
                                             const muster_call_options* options) {
  constexpr char kCall[] = "muster_communicator_broadcast";
  return Run({kCall, communicator, type, options},
             [&](Communicator& on, DataType of, const CallOptions& with) -> absl::Status {
               absl::Status checked;
               const MutableTensorView view = View(kCall, "data", data, count, of, &checked);
               return checked.ok() ? on.Broadcast(view, root, with) : checked;
             });
}

muster_status* muster_communicator_reduce(muster_communicator* communicator, const void* in,
                                          void* out, size_t count, muster_type type, muster_op op,
                                          int root, const muster_call_options* options) {
  constexpr char kCall[] = "muster_communicator_reduce";
  return Run({kCall, communicator, type, options},
             [&](Communicator& on, DataType of, const CallOptions& with) -> absl::Status {
               const absl::StatusOr<ReduceOp> reduce = OpOf(kCall, op);
               absl::Status checked = reduce.status();
               const TensorView from = View(kCall, "in", in, count, of, &checked);
               const size_t there = on.rank() == root ? count : 0;
               const MutableTensorView to = View(kCall, "out", out, there, of, &checked);
               return checked.ok() ? on.Reduce(from, to, *reduce, root, with) : checked;
             });
}

muster_status* muster_communicator_all_gather(muster_communicator* communicator, const void* in,
                                              void* out, size_t count, muster_type type,
                                              const muster_call_options* options) {
  constexpr char kCall[] = "muster_communicator_all_gather";
  return Run({kCall, communicator, type, options},
             [&](Communicator& on, DataType of, const CallOptions& with) -> absl::Status {
               absl::Status checked;
               const TensorView from = View(kCall, "in", in, count, of, &checked);
               const MutableTensorView to = View(kCall, "out", out, count, of, &checked, on.size());
               return checked.ok() ? on.AllGather(from, to, with) : checked;
             });
}

muster_status* muster_communicator_all_gather_uneven(muster_communicator* communicator,
                                                     const void* in, void* out,
                                                     const size_t* counts, muster_type type,
                                                     const muster_call_options* options) {
  constexpr char kCall[] = "muster_communicator_all_gather_uneven";
  return Run({kCall, communicator, type, options},
             [&](Communicator& on, DataType of, const CallOptions& with) -> absl::Status {
               absl::Status checked = CheckNotNull(kCall, {{"counts", counts}});
               if (!checked.ok()) return checked;
               const absl::Span<const size_t> all(counts, on.size());
               size_t sum = 0;
               for (const size_t count : all) {
                 checked.Update(CheckCount(kCall, count, of));
                 if (__builtin_add_overflow(sum, count, &sum)) sum = SIZE_MAX;
               }
               const TensorView from = View(kCall, "in", in, all[on.rank()], of, &checked);
               const MutableTensorView to = View(kCall, "out", out, sum, of, &checked);
               return checked.ok() ? on.AllGather(from, all, to, with) : checked;
             });
}

muster_status* muster_communicator_reduce_scatter(muster_communicator* communicator, const void* in,
                                                  void* out, size_t count, muster_type type,
                                                  muster_op op,
                                                  const muster_call_options* options) {
  constexpr char kCall[] = "muster_communicator_reduce_scatter";
  return Run({kCall, communicator, type, options},
             [&](Communicator& on, DataType of, const CallOptions& with) -> absl::Status {
               const absl::StatusOr<ReduceOp> reduce = OpOf(kCall, op);
               absl::Status checked = reduce.status();
               const TensorView from = View(kCall, "in", in, count, of, &checked, on.size());
               const MutableTensorView to = View(kCall, "out", out, count, of, &checked);
               return checked.ok() ? on.ReduceScatter(from, to, *reduce, with) : checked;
             });
}

muster_status* muster_communicator_all_to_all(muster_communicator* communicator, const void* in,
                                              void* out, size_t count, muster_type type,
                                              const muster_call_options* options) {
  constexpr char kCall[] = "muster_communicator_all_to_all";
  return Run({kCall, communicator, type, options},
             [&](Communicator& on, DataType of, const CallOptions& with) -> absl::Status {
               absl::Status checked;
               const TensorView from = View(kCall, "in", in, count, of, &checked, on.size());
               const MutableTensorView to = View(kCall, "out", out, count, of, &checked, on.size());
               return checked.ok() ? on.AllToAll(from, to, with) : checked;
             });
}

muster_status* muster_communicator_send(muster_communicator* communicator, const void* data,
                                        size_t count, muster_type type, int peer,
                                        const muster_call_options* options) {
  constexpr char kCall[] = "muster_communicator_send";
  return Run({kCall, communicator, type, options},
             [&](Communicator& on, DataType of, const CallOptions& with) -> absl::Status {
               absl::Status checked;
               const TensorView view = View(kCall, "data", data, count, of, &checked);
               return checked.ok() ? on.Send(view, peer, with) : checked;
             });
}

muster_status* muster_communicator_recv(muster_communicator* communicator, void* data, size_t count,
                                        muster_type type, int peer,
                                        const muster_call_options* options) {
  constexpr char kCall[] = "muster_communicator_recv";
  return Run({kCall, communicator, type, options},
             [&](Communicator& on, DataType of, const CallOptions& with) -> absl::Status {
               absl::Status checked;
               const MutableTensorView view = View(kCall, "data", data, count, of, &checked);
               return checked.ok() ? on.Recv(view, peer, with) : checked;
             });
}

muster_status* muster_communicator_send_recv(muster_communicator* communicator, const void* out,
                                             size_t out_count, int to, void* in, size_t in_count,
                                             int from, muster_type type,
                                             const muster_call_options* options) {
  constexpr char kCall[] = "muster_communicator_send_recv";
  return Run({kCall, communicator, type, options},
             [&](Communicator& on, DataType of, const CallOptions& with) -> absl::Status {
               absl::Status checked;
               const TensorView sent = View(kCall, "out", out, out_count, of, &checked);
               const MutableTensorView received = View(kCall, "in", in, in_count, of, &checked);
               return checked.ok() ? on.SendRecv(sent, to, received, from, with) : checked;
             });
}

muster_status* muster_communicator_barrier(muster_communicator* communicator,
                                           const muster_call_options* options) {
  return Run(
      {"muster_communicator_barrier", communicator, MUSTER_UINT8, options},
      [&](Communicator& on, DataType of, const CallOptions& with) { return on.Barrier(with); });
}

}  // extern "C"
