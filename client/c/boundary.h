#ifndef MUSTER_CLIENT_C_BOUNDARY_H_
#define MUSTER_CLIENT_C_BOUNDARY_H_

#include <cstddef>
#include <exception>
#include <initializer_list>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/c.h"
#include "muster/call_options.h"
#include "muster/data_type.h"
#include "muster/reduce_op.h"

// Converts between the C ABI and the C++ classes: statuses, arguments, options and exceptions.
//
//   muster_status* muster_leave(muster_job* job, const muster_call_options* options) {
//     return RunForC([&]() -> absl::Status {
//       absl::Status checked = CheckNotNull("muster_leave", {{"job", job}});
//       if (!checked.ok()) return checked;
//       ... read the options, call the C++ class and return its status
//     });
//   }
namespace muster::internal::c {

// Returns a new muster_status, or null for OK. If there is no memory for it, returns a static
// status of RESOURCE_EXHAUSTED.
muster_status* ToC(const absl::Status& status);

// Returns the status of the exception that is being handled: RESOURCE_EXHAUSTED for std::bad_alloc,
// else INTERNAL. Call it in a catch block.
absl::Status CaughtException();

// Runs the body of a C function, which returns a Status, and converts the result. Exceptions become
// a status.
template <class F>
muster_status* RunForC(F call) {
  try {
    return ToC(call());
  } catch (...) {
    return ToC(CaughtException());
  }
}

struct Argument {
  absl::string_view name;
  const void* value;
};

// Returns INVALID_ARGUMENT, naming the first argument that is null, or OK.
absl::Status CheckNotNull(absl::string_view call, std::initializer_list<Argument> arguments);

// Returns INVALID_ARGUMENT if `data` is null and `size` is not 0.
absl::Status CheckBytes(absl::string_view call, absl::string_view name, const void* data,
                        size_t size);
inline absl::string_view Bytes(const void* data, size_t size) {
  return {static_cast<const char*>(data), size};
}

struct Options {
  CallOptions call;
  CallSite site;
  absl::string_view type_name = "bytes";
};

// Reads the options of a call; null means the defaults. Fields that the caller's older header lacks
// keep their defaults. Fields that only a newer header has must be zero, else INVALID_ARGUMENT.
absl::StatusOr<Options> ReadOptions(const muster_call_options* options);

// Converts a muster_type. Returns INVALID_ARGUMENT, naming the call, for other values.
absl::StatusOr<DataType> TypeOf(absl::string_view call, muster_type type);
// Converts a muster_op in the same way.
absl::StatusOr<ReduceOp> OpOf(absl::string_view call, muster_op op);
// Returns INVALID_ARGUMENT if this many elements cannot fit into memory.
absl::Status CheckCount(absl::string_view call, size_t count, DataType type);

// Moves `value` into a new `Handle` and stores it in `*out` for the caller.
template <class Handle, class T>
absl::Status StoreHandle(absl::StatusOr<T> value, Handle** out) {
  if (!value.ok()) return value.status();
  *out = new Handle{*std::move(value)};
  return absl::OkStatus();
}

}  // namespace muster::internal::c

#endif  // MUSTER_CLIENT_C_BOUNDARY_H_
