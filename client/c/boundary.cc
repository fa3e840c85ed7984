#include "client/c/boundary.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "client/c/handles.h"

namespace muster::internal::c {
namespace {

muster_status* OutOfMemory() {
  static auto* const status = new muster_status{
      absl::ResourceExhaustedError("there is no memory left"), "there is no memory left"};
  return status;
}
// Made before memory is short.
[[maybe_unused]] muster_status* const kOutOfMemory = OutOfMemory();

bool AllZero(const char* begin, const char* end) {
  return std::all_of(begin, end, [](char byte) { return byte == 0; });
}

absl::StatusOr<muster_call_options> CopyKnown(const muster_call_options& options) {
  muster_call_options known = {sizeof(known), -1, nullptr, nullptr, 0};
  if (options.size < sizeof(size_t)) {
    return absl::InvalidArgumentError(
        absl::StrCat("muster_call_options.size is ", options.size,
                     "; initialize the struct by MUSTER_CALL_OPTIONS"));
  }
  const char* const bytes = reinterpret_cast<const char*>(&options);
  if (options.size > sizeof(known) && !AllZero(bytes + sizeof(known), bytes + options.size)) {
    return absl::InvalidArgumentError(
        "muster_call_options has fields that this libmuster does not know: the program was built "
        "with a newer muster/c.h; install the library of that version");
  }
  std::memcpy(&known, bytes, std::min(options.size, sizeof(known)));
  return known;
}

}  // namespace

muster_status* ToC(const absl::Status& status) {
  if (status.ok()) return nullptr;
  try {
    return new muster_status{status, std::string(status.message())};
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

absl::Status CaughtException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("there is no memory left");
  } catch (const std::exception& thrown) {
    return absl::InternalError(absl::StrCat("an exception: ", thrown.what()));
  } catch (...) {
    return absl::InternalError("an exception of an unknown type");
  }
}

absl::Status CheckGiven(absl::string_view call, std::initializer_list<Argument> arguments) {
  for (const Argument& argument : arguments) {
    if (argument.value == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(call, ": '", argument.name, "' is NULL"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBytes(absl::string_view call, absl::string_view name, const void* data,
                        size_t size) {
  if (data != nullptr || size == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(call, ": '", name, "' is NULL, and ", size, " bytes are wanted of it"));
}

absl::StatusOr<Options> ReadOptions(const muster_call_options* options) {
  Options read;
  if (options == nullptr) return read;
  const absl::StatusOr<muster_call_options> known = CopyKnown(*options);
  if (!known.ok()) return known.status();
  if (known->timeout_ms >= 0) read.call.timeout = absl::Milliseconds(known->timeout_ms);
  if (known->cancellation != nullptr) read.call.cancellation = &known->cancellation->cancellation;
  if (known->file != nullptr) read.site = CallSite{known->file, known->line};
  return read;
}

}  // namespace muster::internal::c

extern "C" {

muster_code muster_status_code(const muster_status* status) {
  return status == nullptr ? MUSTER_OK : static_cast<muster_code>(status->status.code());
}

const char* muster_status_message(const muster_status* status) {
  return status == nullptr ? "" : status->message.c_str();
}

void muster_status_free(muster_status* status) {
  if (status != muster::internal::c::OutOfMemory()) delete status;
}

}  // extern "C"
