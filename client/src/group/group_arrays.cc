// Collectives of arrays in the caller's memory, built on the collectives of bytes.
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "muster/group.h"

namespace muster::internal {
namespace {

absl::string_view Bytes(const void* data, size_t bytes) {
  return {static_cast<const char*>(data), bytes};
}

// Copies all values, or none of them if a size is wrong.
absl::Status CopyInto(void* out, size_t bytes, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    if (value.size() == bytes) continue;
    return absl::InternalError(
        absl::StrCat("a value of ", value.size(), " bytes came where ", bytes, " were expected"));
  }
  char* to = static_cast<char*>(out);
  for (const std::string& value : values) {
    if (bytes > 0) std::memcpy(to, value.data(), bytes);
    to += bytes;
  }
  return absl::OkStatus();
}

// Copies the values of all ranks. Inside a PreventBlock scope, copies only this process's value, to
// its own place.
absl::Status CopyAll(const Group& group, void* all, size_t bytes,
                     const std::vector<std::string>& values) {
  const bool alone = group.prevents_block();
  char* const to = static_cast<char*>(all) + (alone ? group.rank() * bytes : 0);
  return CopyInto(to, bytes, values);
}

absl::Status CheckRoom(const Group& group, absl::string_view call, size_t bytes, size_t all_bytes) {
  if (bytes * group.size() == all_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(call, ": the result has ", all_bytes, " bytes, expected ", bytes,
                   " for each of ", group.size(), group.size() == 1 ? " rank" : " ranks"));
}

}  // namespace

absl::Status BroadcastInto(const Group& group, void* data, size_t bytes, int root,
                           absl::string_view type_name, const CallOptions& options, CallSite site) {
  const absl::StatusOr<std::string> value =
      group.BroadcastBytes(Bytes(data, bytes), root, type_name, options, site);
  return value.ok() ? CopyInto(data, bytes, {*value}) : value.status();
}

absl::Status GatherInto(const Group& group, const void* mine, size_t bytes, void* all,
                        size_t all_bytes, int root, absl::string_view type_name,
                        const CallOptions& options, CallSite site) {
  if (group.rank() == root) {
    if (absl::Status room = CheckRoom(group, "Gather", bytes, all_bytes); !room.ok()) return room;
  }
  const auto values = group.GatherBytes(Bytes(mine, bytes), root, type_name, options, site);
  if (!values.ok()) return values.status();
  // Only the root gets values. On other ranks `all` may be null.
  return group.rank() == root ? CopyAll(group, all, bytes, *values) : absl::OkStatus();
}

absl::Status AllGatherInto(const Group& group, const void* mine, size_t bytes, void* all,
                           size_t all_bytes, absl::string_view type_name,
                           const CallOptions& options, CallSite site) {
  if (absl::Status room = CheckRoom(group, "AllGather", bytes, all_bytes); !room.ok()) return room;
  const auto values = group.AllGatherBytes(Bytes(mine, bytes), type_name, options, site);
  return values.ok() ? CopyAll(group, all, bytes, *values) : values.status();
}

absl::Status AllReduceInto(const Group& group, void* data, size_t bytes, DataType type, ReduceOp op,
                           const CallOptions& options, CallSite site) {
  const absl::StatusOr<std::string> reduced =
      AllReduceElements(group, Bytes(data, bytes), type, op, options, site);
  return reduced.ok() ? CopyInto(data, bytes, {*reduced}) : reduced.status();
}

}  // namespace muster::internal
