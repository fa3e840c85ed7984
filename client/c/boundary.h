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

// Where calls from C come in and go out again.
namespace muster::internal::c {

// Null for OK. Also where there is no memory for it.
muster_status* ToC(const absl::Status& status);

// INTERNAL, or RESOURCE_EXHAUSTED for std::bad_alloc, of what is being caught.
absl::Status CaughtException();

// Runs the body of a call of the C ABI: `call` returns a Status. Exceptions end here.
template <class F>
muster_status* Call(F call) {
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

// INVALID_ARGUMENT naming the first that is null.
absl::Status CheckGiven(absl::string_view call, std::initializer_list<Argument> arguments);

// Null counts as empty only where there are no bytes.
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

// The defaults for null. Fields that the caller's header did not have are left at them; fields that
// this library does not know must be zero.
absl::StatusOr<Options> ReadOptions(const muster_call_options* options);

// INVALID_ARGUMENT, naming the call, for a value that is no muster_type.
absl::StatusOr<DataType> TypeOf(absl::string_view call, muster_type type);
// The same for a muster_op.
absl::StatusOr<ReduceOp> OpOf(absl::string_view call, muster_op op);
// INVALID_ARGUMENT where so many elements are more than any memory holds.
absl::Status CheckCount(absl::string_view call, size_t count, DataType type);

// Gives a new `Handle` made of `value` to the caller, through `out`.
template <class Handle, class T>
absl::Status Give(absl::StatusOr<T> value, Handle** out) {
  if (!value.ok()) return value.status();
  *out = new Handle{*std::move(value)};
  return absl::OkStatus();
}

}  // namespace muster::internal::c

#endif  // MUSTER_CLIENT_C_BOUNDARY_H_
