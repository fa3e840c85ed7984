#include "muster/group.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/c/boundary.h"
#include "client/c/handles.h"
#include "muster/c.h"

namespace muster::internal::c {
namespace {

// Runs a call of `group` with its options.
template <class F>
muster_status* OnGroup(absl::string_view call, const muster_group* group,
                       const muster_call_options* options, F body) {
  return RunForC([&]() -> absl::Status {
    if (absl::Status checked = CheckNotNull(call, {{"group", group}}); !checked.ok())
      return checked;
    const absl::StatusOr<Options> read = ReadOptions(options);
    if (!read.ok()) return read.status();
    return body(group->group, *read);
  });
}

// Returns the size as a type name. Ranks that pass different sizes then get the error for different
// types.
std::string SizeAsType(size_t size) { return absl::StrCat(size, " bytes"); }

absl::Status AllReduce(const Group& group, void* data, size_t count, muster_type type, muster_op op,
                       const Options& options) {
  constexpr char kCall[] = "muster_all_reduce";
  const absl::StatusOr<DataType> data_type = TypeOf(kCall, type);
  if (!data_type.ok()) return data_type.status();
  const absl::StatusOr<ReduceOp> reduce_op = OpOf(kCall, op);
  if (!reduce_op.ok()) return reduce_op.status();
  const size_t width = SizeOf(*data_type);
  absl::Status checked = CheckCount(kCall, count, *data_type);
  checked.Update(CheckBytes(kCall, "data", data, count * width));
  if (!checked.ok()) return checked;
  std::string elements(Bytes(data, count * width));
  // Normalizes the bytes: a C++ bool must be 0 or 1.
  if (*data_type == DataType::kBool) {
    for (char& element : elements) element = element != 0;
  }
  const absl::Status reduced = AllReduceInto(group, elements.data(), elements.size(), *data_type,
                                             *reduce_op, options.call, options.site);
  if (reduced.ok() && count > 0) std::memcpy(data, elements.data(), elements.size());
  return reduced;
}

// Stores the group, of a job or a part of it, in a new handle for the caller.
absl::Status GiveGroup(absl::StatusOr<std::optional<Group>> made, muster_group** group) {
  if (!made.ok()) return made.status();
  *group = made->has_value() ? new muster_group{**std::move(made)} : nullptr;
  return absl::OkStatus();
}

}  // namespace
}  // namespace muster::internal::c

using muster::Group;
using muster::internal::AllGatherInto;
using muster::internal::BroadcastInto;
using muster::internal::GatherInto;
using namespace muster::internal::c;

extern "C" {

muster_group* muster_world(muster_job* job) {
  if (job == nullptr) return nullptr;
  // If there is no memory, returns null; calls then report that their group is NULL.
  try {
    absl::MutexLock lock(&job->mutex);
    const uint64_t epoch = job->job->epoch();
    if (job->worlds.empty() || job->worlds.back().epoch != epoch) {
      job->worlds.push_back(
          {epoch, std::unique_ptr<muster_group>(new muster_group{job->job->world()})});
    }
    return job->worlds.back().group.get();
  } catch (...) {
    return nullptr;
  }
}

muster_status* muster_group_new(muster_job* job, const char* name, const int* ranks, size_t count,
                                muster_group** group) {
  return RunForC([&]() -> absl::Status {
    absl::Status checked = CheckNotNull(
        "muster_group_new", {{"job", job}, {"name", name}, {"ranks", ranks}, {"group", group}});
    if (!checked.ok()) return checked;
    return StoreHandle(job->job->NewGroup(name, std::vector<int>(ranks, ranks + count)), group);
  });
}

muster_status* muster_split(muster_job* job, const int* color, int key,
                            const muster_call_options* options, muster_group** group) {
  return RunForC([&]() -> absl::Status {
    absl::Status checked = CheckNotNull("muster_split", {{"job", job}, {"group", group}});
    if (!checked.ok()) return checked;
    const absl::StatusOr<Options> read = ReadOptions(options);
    if (!read.ok()) return read.status();
    const std::optional<int> chosen = color == nullptr ? std::nullopt : std::optional<int>(*color);
    return GiveGroup(job->job->Split(chosen, key, read->call, read->site), group);
  });
}

void muster_group_free(muster_group* group) { delete group; }

int muster_group_rank(const muster_group* group) {
  return group == nullptr ? -1 : group->group.rank();
}
int muster_group_size(const muster_group* group) {
  return group == nullptr ? -1 : group->group.size();
}
int muster_group_member(const muster_group* group, int index) {
  const bool there = group != nullptr && index >= 0 && index < group->group.size();
  return there ? group->group.ranks()[index] : -1;
}

muster_status* muster_barrier(muster_group* group, const char* label,
                              const muster_call_options* options) {
  return OnGroup("muster_barrier", group, options, [&](const Group& on, const Options& with) {
    return on.Barrier(label == nullptr ? "" : label, with.call, with.site);
  });
}

muster_status* muster_broadcast(muster_group* group, void* data, size_t size, int root,
                                const muster_call_options* options) {
  return OnGroup("muster_broadcast", group, options, [&](const Group& on, const Options& with) {
    absl::Status checked = CheckBytes("muster_broadcast", "data", data, size);
    if (!checked.ok()) return checked;
    return BroadcastInto(on, data, size, root, SizeAsType(size), with.call, with.site);
  });
}

muster_status* muster_gather(muster_group* group, const void* mine, size_t size, void* all,
                             int root, const muster_call_options* options) {
  return OnGroup("muster_gather", group, options, [&](const Group& on, const Options& with) {
    absl::Status checked = CheckBytes("muster_gather", "mine", mine, size);
    if (on.rank() == root) checked.Update(CheckBytes("muster_gather", "all", all, size));
    if (!checked.ok()) return checked;
    return GatherInto(on, mine, size, all, size * on.size(), root, SizeAsType(size), with.call,
                      with.site);
  });
}

muster_status* muster_all_gather(muster_group* group, const void* mine, size_t size, void* all,
                                 const muster_call_options* options) {
  return OnGroup("muster_all_gather", group, options, [&](const Group& on, const Options& with) {
    absl::Status checked = CheckBytes("muster_all_gather", "mine", mine, size);
    checked.Update(CheckBytes("muster_all_gather", "all", all, size));
    if (!checked.ok()) return checked;
    return AllGatherInto(on, mine, size, all, size * on.size(), SizeAsType(size), with.call,
                         with.site);
  });
}

muster_status* muster_all_reduce(muster_group* group, void* data, size_t count, muster_type type,
                                 muster_op op, const muster_call_options* options) {
  return OnGroup("muster_all_reduce", group, options, [&](const Group& on, const Options& with) {
    return AllReduce(on, data, count, type, op, with);
  });
}

muster_status* muster_broadcast_values(muster_group* group, const void* data, size_t size, int root,
                                       const muster_call_options* options, muster_values** value) {
  constexpr char kCall[] = "muster_broadcast_values";
  return OnGroup(kCall, group, options, [&](const Group& on, const Options& with) {
    absl::Status checked = CheckNotNull(kCall, {{"value", value}});
    if (on.rank() == root) checked.Update(CheckBytes(kCall, "data", data, size));
    if (!checked.ok()) return checked;
    const absl::string_view mine = data == nullptr ? "" : Bytes(data, size);
    absl::StatusOr<std::string> sent =
        on.BroadcastBytes(mine, root, with.type_name, with.call, with.site);
    if (!sent.ok()) return sent.status();
    *value = new muster_values{{*std::move(sent)}};
    return absl::OkStatus();
  });
}

muster_status* muster_gather_values(muster_group* group, const void* data, size_t size, int root,
                                    const muster_call_options* options, muster_values** values) {
  constexpr char kCall[] = "muster_gather_values";
  return OnGroup(kCall, group, options, [&](const Group& on, const Options& with) {
    absl::Status checked = CheckNotNull(kCall, {{"values", values}});
    checked.Update(CheckBytes(kCall, "data", data, size));
    if (!checked.ok()) return checked;
    return StoreHandle(
        on.GatherBytes(Bytes(data, size), root, with.type_name, with.call, with.site), values);
  });
}

muster_status* muster_all_gather_values(muster_group* group, const void* data, size_t size,
                                        const muster_call_options* options,
                                        muster_values** values) {
  constexpr char kCall[] = "muster_all_gather_values";
  return OnGroup(kCall, group, options, [&](const Group& on, const Options& with) {
    absl::Status checked = CheckNotNull(kCall, {{"values", values}});
    checked.Update(CheckBytes(kCall, "data", data, size));
    if (!checked.ok()) return checked;
    return StoreHandle(on.AllGatherBytes(Bytes(data, size), with.type_name, with.call, with.site),
                       values);
  });
}

size_t muster_values_count(const muster_values* values) {
  return values == nullptr ? 0 : values->values.size();
}

const void* muster_values_get(const muster_values* values, size_t index, size_t* size) {
  if (index >= muster_values_count(values)) return nullptr;
  const std::string& value = values->values[index];
  if (size != nullptr) *size = value.size();
  return value.c_str();
}

void muster_values_free(muster_values* values) { delete values; }

}  // extern "C"
