#include "client/c/boundary.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/c/handles.h"

namespace muster::internal::c {
namespace {

muster_status* OutOfMemory() {
  static auto* const status =
      new muster_status(absl::ResourceExhaustedError("there is no memory left"));
  return status;
}
// Allocates it at start, before memory can be short.
[[maybe_unused]] muster_status* const kOutOfMemory = OutOfMemory();

// Returns the rank at the beginning of `text`, or -1 if `text` is not the name of a member.
int RankBefore(absl::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  int rank = -1;
  const absl::string_view after = text.substr(digits);
  // Names of members look like "rank 3 (node 'a', pid 77)" or "rank 3 (host h, pid 77)".
  if (!absl::StartsWith(after, " (node '") && !absl::StartsWith(after, " (host ")) return -1;
  return absl::SimpleAtoi(text.substr(0, digits), &rank) ? rank : -1;
}

// Returns the first rank in the message that is part of a member's name, or -1.
int FirstRank(absl::string_view message) {
  constexpr absl::string_view kRank = "rank ";
  for (size_t at = message.find(kRank); at != absl::string_view::npos;
       at = message.find(kRank, at + 1)) {
    const int rank = RankBefore(message.substr(at + kRank.size()));
    if (rank >= 0) return rank;
  }
  return -1;
}

bool AllZero(const char* begin, const char* end) {
  return std::all_of(begin, end, [](char byte) { return byte == 0; });
}

absl::StatusOr<muster_call_options> CopyKnown(const muster_call_options& options) {
  muster_call_options known = {sizeof(known), -1, nullptr, nullptr, 0, nullptr, nullptr};
  if (options.size < sizeof(size_t)) {
    return absl::InvalidArgumentError(
        absl::StrCat("muster_call_options.size is ", options.size,
                     "; initialize the struct with MUSTER_CALL_OPTIONS"));
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
    return new muster_status(status);
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

absl::Status CheckNotNull(absl::string_view call, std::initializer_list<Argument> arguments) {
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
      absl::StrCat(call, ": '", name, "' is NULL, and ", size, " bytes are to be read from it"));
}

absl::StatusOr<Options> ReadOptions(const muster_call_options* options) {
  Options read;
  if (options == nullptr) return read;
  const absl::StatusOr<muster_call_options> known = CopyKnown(*options);
  if (!known.ok()) return known.status();
  if (known->timeout_ms >= 0) read.call.timeout = absl::Milliseconds(known->timeout_ms);
  if (known->cancellation != nullptr) read.call.cancellation = &known->cancellation->cancellation;
  if (known->file != nullptr) read.site = CallSite{known->file, known->line};
  if (known->type_name != nullptr) read.type_name = known->type_name;
  read.call.stream = known->stream;
  return read;
}

absl::StatusOr<DataType> TypeOf(absl::string_view call, muster_type type) {
  switch (type) {
    case MUSTER_BOOL:
      return DataType::kBool;
    case MUSTER_UINT8:
      return DataType::kUint8;
    case MUSTER_INT8:
      return DataType::kInt8;
    case MUSTER_UINT16:
      return DataType::kUint16;
    case MUSTER_INT16:
      return DataType::kInt16;
    case MUSTER_UINT32:
      return DataType::kUint32;
    case MUSTER_INT32:
      return DataType::kInt32;
    case MUSTER_UINT64:
      return DataType::kUint64;
    case MUSTER_INT64:
      return DataType::kInt64;
    case MUSTER_FLOAT32:
      return DataType::kFloat32;
    case MUSTER_FLOAT64:
      return DataType::kFloat64;
    case MUSTER_FLOAT8_E4M3:
      return DataType::kFloat8E4m3;
    case MUSTER_FLOAT8_E5M2:
      return DataType::kFloat8E5m2;
    case MUSTER_FLOAT16:
      return DataType::kFloat16;
    case MUSTER_BFLOAT16:
      return DataType::kBfloat16;
  }
  return absl::InvalidArgumentError(absl::StrCat(call, ": the type is ", static_cast<int>(type),
                                                 ", expected one of muster_type's values"));
}

absl::StatusOr<ReduceOp> OpOf(absl::string_view call, muster_op op) {
  switch (op) {
    case MUSTER_SUM:
      return ReduceOp::kSum;
    case MUSTER_PRODUCT:
      return ReduceOp::kProduct;
    case MUSTER_MIN:
      return ReduceOp::kMin;
    case MUSTER_MAX:
      return ReduceOp::kMax;
    case MUSTER_AVERAGE:
      return ReduceOp::kAverage;
    case MUSTER_BITWISE_AND:
      return ReduceOp::kBitwiseAnd;
    case MUSTER_BITWISE_OR:
      return ReduceOp::kBitwiseOr;
  }
  return absl::InvalidArgumentError(absl::StrCat(call, ": the operation is ", static_cast<int>(op),
                                                 ", expected one of muster_op's values"));
}

absl::Status CheckCount(absl::string_view call, size_t count, DataType type) {
  if (count <= SIZE_MAX / SizeOf(type)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(call, ": ", count, " elements are more than any memory holds"));
}

}  // namespace muster::internal::c

extern "C" {

muster_code muster_status_code(const muster_status* status) {
  return status == nullptr ? MUSTER_OK : static_cast<muster_code>(status->status.code());
}

const char* muster_status_message(const muster_status* status) {
  return status == nullptr ? "" : status->message.c_str();
}

int muster_status_rank(const muster_status* status) {
  if (status == nullptr) return -1;
  // An error that the program has made, or got as a text from another rank, has no facts.
  return status->facts.rank ? *status->facts.rank : muster::internal::c::FirstRank(status->message);
}

const char* muster_status_node(const muster_status* status) {
  return status == nullptr ? "" : status->facts.node.c_str();
}

const char* muster_status_cause(const muster_status* status) {
  return status == nullptr ? "" : status->facts.cause.c_str();
}

int64_t muster_status_pid(const muster_status* status) {
  return status == nullptr ? -1 : status->facts.pid.value_or(-1);
}

size_t muster_status_missing_count(const muster_status* status) {
  return status == nullptr ? 0 : status->facts.missing_ranks.size();
}

int muster_status_missing_rank(const muster_status* status, size_t index) {
  return index < muster_status_missing_count(status) ? status->facts.missing_ranks[index] : -1;
}

muster_status* muster_status_new(muster_code code, const char* message) {
  const bool known = code >= MUSTER_OK && code <= MUSTER_UNAUTHENTICATED;
  const auto status = known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown;
  return muster::internal::c::RunForC(
      [&] { return absl::Status(status, message == nullptr ? "" : message); });
}

muster_status* muster_status_copy(const muster_status* status) {
  return status == nullptr ? nullptr : muster::internal::c::ToC(status->status);
}

void muster_status_free(muster_status* status) {
  if (status != muster::internal::c::OutOfMemory()) delete status;
}

}  // extern "C"
