#ifndef MUSTER_PORTABLE_H_
#define MUSTER_PORTABLE_H_

#include "muster/cxx17.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "muster/c.h"

// The SDK for C++ programs with another Abseil than the library's, or without Abseil. It works with
// any C++17 compiler and C++ library, with and without exceptions. Everything in it is inline over
// muster/c.h, so no C++ type and no exception crosses into libmuster.so:
//
//   muster::portable::Result<muster::portable::Job> job =
//       muster::portable::Job::Join(muster::portable::JobOptions::FromEnvironment());
//   if (!job.ok()) return job.status().exit_code();
//   std::vector<float> losses = {0.5f, 2.0f};
//   muster::portable::Status done = job->AllReduce(muster::portable::Span(losses));
//   if (done.ok()) done = job->Leave();
//   if (!done.ok()) std::cerr << done.message() << std::endl;  // names the rank, its node and why
//   return done.exit_code();
//
// Names and effects are those of muster/muster.h. The differences: Status, Result and Span stand in
// for Abseil's types, std::chrono for absl::Duration, owners are values instead of unique_ptrs, and
// options are variables of the environment. A file may include both headers, but an object of one
// cannot be passed to the other. If ranks of one job use different headers, they can share
// barriers, splits, AllReduce, leases without a result, and communicators. Their values in other
// collectives are encoded differently.
//
// Classes that own something are move-only, and free it in their destructors. Calls on a moved-from
// object return INVALID_ARGUMENT, and its numbers are -1.
namespace muster::portable {

// ---- Errors -------------------------------------------------------------------------------------

// The canonical codes of gRPC.
enum class Code : int32_t {
  kOk = MUSTER_OK,
  kCancelled = MUSTER_CANCELLED,
  kUnknown = MUSTER_UNKNOWN,
  kInvalidArgument = MUSTER_INVALID_ARGUMENT,
  kDeadlineExceeded = MUSTER_DEADLINE_EXCEEDED,
  kNotFound = MUSTER_NOT_FOUND,
  kAlreadyExists = MUSTER_ALREADY_EXISTS,
  kPermissionDenied = MUSTER_PERMISSION_DENIED,
  kResourceExhausted = MUSTER_RESOURCE_EXHAUSTED,
  kFailedPrecondition = MUSTER_FAILED_PRECONDITION,
  kAborted = MUSTER_ABORTED,
  kOutOfRange = MUSTER_OUT_OF_RANGE,
  kUnimplemented = MUSTER_UNIMPLEMENTED,
  kInternal = MUSTER_INTERNAL,
  kUnavailable = MUSTER_UNAVAILABLE,
  kDataLoss = MUSTER_DATA_LOSS,
  kUnauthenticated = MUSTER_UNAUTHENTICATED,
};

// Returns the name of the code, "ABORTED"; "UNKNOWN" for a value that is no enumerator.
inline const char* NameOf(Code code) {
  switch (code) {
    case Code::kOk:
      return "OK";
    case Code::kCancelled:
      return "CANCELLED";
    case Code::kUnknown:
      break;
    case Code::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case Code::kNotFound:
      return "NOT_FOUND";
    case Code::kAlreadyExists:
      return "ALREADY_EXISTS";
    case Code::kPermissionDenied:
      return "PERMISSION_DENIED";
    case Code::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case Code::kAborted:
      return "ABORTED";
    case Code::kOutOfRange:
      return "OUT_OF_RANGE";
    case Code::kUnimplemented:
      return "UNIMPLEMENTED";
    case Code::kInternal:
      return "INTERNAL";
    case Code::kUnavailable:
      return "UNAVAILABLE";
    case Code::kDataLoss:
      return "DATA_LOSS";
    case Code::kUnauthenticated:
      return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

// The outcome of a call without a value: OK, or an error with its code, its message and the rank
// that it names. Copies share the error. Thread-safe, because it never changes.
class [[nodiscard]] Status {
 public:
  // OK.
  Status() = default;
  // An error of the program's own. OK if `code` is kOk.
  Status(Code code, const std::string& message)
      : Status(Take(muster_status_new(static_cast<muster_code>(code), message.c_str()))) {}

  // Returns whether there is no error.
  bool ok() const { return error_ == nullptr; }
  // Returns the code; kOk if there is no error.
  Code code() const { return static_cast<Code>(muster_status_code(error_.get())); }
  // Returns what happened, to which job, rank and node, and what to do next; empty for OK. The text
  // lives as long as a copy of this status.
  const char* message() const { return muster_status_message(error_.get()); }
  // Returns the first rank that the error names: the lost member of an ABORTED, or the rank whose
  // work has failed. Unset if it names no rank.
  std::optional<int> rank() const {
    const int rank = muster_status_rank(error_.get());
    return rank < 0 ? std::nullopt : std::optional<int>(rank);
  }
  // Return more about that rank: its node, its process id on its host, and why it was lost. Empty
  // or unset if the error does not say. The texts live as long as a copy of this status.
  const char* node() const { return muster_status_node(error_.get()); }
  std::optional<int64_t> pid() const {
    const int64_t pid = muster_status_pid(error_.get());
    return pid < 0 ? std::nullopt : std::optional<int64_t>(pid);
  }
  const char* cause() const { return muster_status_cause(error_.get()); }
  // Returns all ranks that were lost, or that a time-out waited for, in ascending order.
  std::vector<int> missing_ranks() const {
    std::vector<int> ranks(muster_status_missing_count(error_.get()));
    for (size_t i = 0; i < ranks.size(); ++i) {
      ranks[i] = muster_status_missing_rank(error_.get(), i);
    }
    return ranks;
  }
  // Returns the exit code that lets a scheduler blame the right process (docs/exit-codes.md); 0 for
  // OK.
  int exit_code() const { return muster_status_exit_code(error_.get()); }
  // Returns "ABORTED: job 'train': ...", or "OK".
  std::string ToString() const {
    return ok() ? "OK" : std::string(NameOf(code())) + ": " + message();
  }

  // For programs that call muster/c.h, too. Take() makes a status of an error that the library has
  // returned, and frees it. Copy() leaves it to its owner. NULL is OK. ToC() returns a copy that
  // the caller frees, or returns to the library; NULL for OK.
  static Status Take(muster_status* error) {
    Status status;
    if (error != nullptr) status.error_ = {error, muster_status_free};
    return status;
  }
  static Status Copy(const muster_status* error) { return Take(muster_status_copy(error)); }
  muster_status* ToC() const { return muster_status_copy(error_.get()); }

  // Returns the error as muster/c.h has it, which lives as long as a copy of this status; NULL for
  // OK.
  const muster_status* handle() const { return error_.get(); }

 private:
  std::shared_ptr<muster_status> error_;
};

// The exception that Result::value() throws if there is no value.
class Error : public std::exception {
 public:
  // An exception for that error.
  explicit Error(Status status) : status_(std::move(status)) {}
  // Returns the message of the status.
  const char* what() const noexcept override { return status_.message(); }
  // Returns the error.
  const Status& status() const { return status_; }

 private:
  Status status_;
};

namespace internal {

// Ends the process: the program has read the value of a Result that has none.
[[noreturn]] inline void DieWithoutValue(const Status& error) {
  std::fprintf(stderr, "the value of a failed call was read: %s\n", error.ToString().c_str());
  std::abort();
}

}  // namespace internal

// The outcome of a call with a value: a T, or the error. Copyable if T is.
template <class T>
class [[nodiscard]] Result {
 public:
  // The type of the value.
  using value_type = T;

  // A value, and an error. A Result of an OK status is INTERNAL.
  Result(T value) : value_(std::move(value)) {}
  Result(Status error)
      : error_(error.ok() ? Status(Code::kInternal, "a Result has neither a value nor an error")
                          : std::move(error)) {}

  // Returns whether there is a value.
  bool ok() const { return value_.has_value(); }
  // Returns the error, or OK if there is a value.
  const Status& status() const { return error_; }

  // Return the value. Without one, write the error to standard error and end the process.
  T& operator*() & { return Checked(*this); }
  const T& operator*() const& { return Checked(*this); }
  T&& operator*() && { return std::move(Checked(*this)); }
  T* operator->() { return &Checked(*this); }
  const T* operator->() const { return &Checked(*this); }

  // Return the value. Without one, throw Error. In a file that is compiled without exceptions, end
  // the process as above. Inlined everywhere, because files with and without exceptions may be in
  // one program.
  [[gnu::always_inline]] T& value() & {
    ThrowUnlessOk();
    return *value_;
  }
  [[gnu::always_inline]] const T& value() const& {
    ThrowUnlessOk();
    return *value_;
  }
  [[gnu::always_inline]] T&& value() && {
    ThrowUnlessOk();
    return *std::move(value_);
  }

 private:
  template <class Self>
  static auto& Checked(Self& self) {
    if (!self.ok()) internal::DieWithoutValue(self.error_);
    return *self.value_;
  }
  [[gnu::always_inline]] void ThrowUnlessOk() const {
#if defined(__cpp_exceptions)
    if (!ok()) throw Error(error_);
#else
    if (!ok()) internal::DieWithoutValue(error_);
#endif
  }

  std::optional<T> value_;
  Status error_;
};

// Returns if `status` is OK. Otherwise writes the rank and the error to standard error, writes the
// termination reason, and ends the process with status.exit_code(). For programs ported from MPI,
// which end on every error. Runs no destructor and no atexit() function. The other members see this
// process as lost.
inline void OrDie(const Status& status) { muster_or_die(status.handle()); }

// Returns the value, or ends the process as above.
template <class T>
T OrDie(Result<T> result) {
  OrDie(result.status());
  return *std::move(result);
}

// Writes the reason why the process ends where its scheduler reads it; see
// WriteTerminationReason() in muster/exit_code.h. Ignores errors.
inline void WriteTerminationReason(const std::string& reason) {
  muster_write_termination_reason(reason.c_str());
}

// Returns the version of the library that runs, "0.1.0"; the program may be compiled with another.
inline const char* LibraryVersion() { return muster_version(); }

// ---- Arrays and values --------------------------------------------------------------------------

namespace internal {

// The type of the elements of an array: anything with std::data() and std::size().
template <class Array>
using ElementOf = std::remove_pointer_t<decltype(std::data(std::declval<Array&>()))>;

// A parameter whose type is deduced from another parameter.
template <class T>
struct NonDeducedType {
  using Type = T;
};
template <class T>
using NonDeduced = typename NonDeducedType<T>::Type;

// Frees a handle of muster/c.h by the function that its type has for it.
template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* handle) const {
    kFree(handle);
  }
};
template <class T, void (*kFree)(T*)>
using Handle = std::unique_ptr<T, Free<kFree>>;

}  // namespace internal

// An array in the caller's memory: a pointer and the number of elements. Does not own them. Made of
// a pointer and a size, or of anything that has data() and size(), or is a C array:
// Span(gradients), Span(data, 1000). A Span of const elements is only read.
template <class T>
class Span {
 public:
  // An empty array.
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  template <class Array, class = std::enable_if_t<
                             !std::is_same_v<std::decay_t<Array>, Span> &&
                             std::is_convertible_v<internal::ElementOf<Array> (*)[], T (*)[]>>>
  constexpr Span(Array&& array) : data_(std::data(array)), size_(std::size(array)) {}

  // Return the first element, the number of elements, and all of them.
  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr T& operator[](size_t index) const { return data_[index]; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};
template <class Array>
Span(Array&&) -> Span<internal::ElementOf<Array>>;

// The element types of arrays. Gloo moves all of them, but has no arithmetic on bool and on floats
// of 16 and 8 bits: reductions of these return UNIMPLEMENTED.
enum class DataType : int32_t {
  kBool = MUSTER_BOOL,
  kUint8 = MUSTER_UINT8,
  kInt8 = MUSTER_INT8,
  kUint16 = MUSTER_UINT16,
  kInt16 = MUSTER_INT16,
  kUint32 = MUSTER_UINT32,
  kInt32 = MUSTER_INT32,
  kUint64 = MUSTER_UINT64,
  kInt64 = MUSTER_INT64,
  kFloat32 = MUSTER_FLOAT32,
  kFloat64 = MUSTER_FLOAT64,
  kFloat8E4m3 = MUSTER_FLOAT8_E4M3,  // OCP 8-bit floats
  kFloat8E5m2 = MUSTER_FLOAT8_E5M2,
  kFloat16 = MUSTER_FLOAT16,    // IEEE half precision
  kBfloat16 = MUSTER_BFLOAT16,  // the upper half of a float32
};

// The operation that a reduction applies to the values of all ranks. Integers wrap around. The
// average of integers is rounded toward zero. Bitwise operations are for integers and bool.
enum class ReduceOp : int32_t {
  kSum = MUSTER_SUM,
  kProduct = MUSTER_PRODUCT,
  kMin = MUSTER_MIN,
  kMax = MUSTER_MAX,
  kAverage = MUSTER_AVERAGE,
  kBitwiseAnd = MUSTER_BITWISE_AND,
  kBitwiseOr = MUSTER_BITWISE_OR,
};

// The DataType of the elements of an array of T: of bool, float, double, and integers of 8 to 64
// bits. Specialize it for a type of the program's own:
//
//   template <>
//   struct muster::portable::ElementType<Half> {
//     static constexpr DataType kValue = DataType::kFloat16;
//   };
template <class T>
struct ElementType {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8,
                "no array has elements of this type; for floats of 16 and 8 bits specialize "
                "muster::portable::ElementType");
  // The type.
  static constexpr DataType kValue = [] {
    if (std::is_same_v<T, bool>) return DataType::kBool;
    if (std::is_floating_point_v<T>)
      return sizeof(T) == 4 ? DataType::kFloat32 : DataType::kFloat64;
    constexpr bool is_signed = std::is_signed_v<T>;
    if (sizeof(T) == 1) return is_signed ? DataType::kInt8 : DataType::kUint8;
    if (sizeof(T) == 2) return is_signed ? DataType::kInt16 : DataType::kUint16;
    if (sizeof(T) == 4) return is_signed ? DataType::kInt32 : DataType::kUint32;
    return is_signed ? DataType::kInt64 : DataType::kUint64;
  }();
};

namespace internal {

template <class T>
inline constexpr bool kIsSpan = false;
template <class T>
inline constexpr bool kIsSpan<Span<T>> = true;

// Whether the bytes of a T are its value: a number, an enum or a plain struct. A pointer inside a
// struct is not detected.
template <class T>
inline constexpr bool kIsPlainData =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_member_pointer_v<T> &&
    !std::is_array_v<T> && !kIsSpan<T> && !std::is_convertible_v<const T&, std::string_view>;

template <class T>
constexpr muster_type TypeOf() {
  static_assert(!std::is_const_v<T>, "the array is written to, and its elements are const");
  return static_cast<muster_type>(ElementType<T>::kValue);
}
constexpr muster_op ToC(ReduceOp op) { return static_cast<muster_op>(op); }

// Returns the bytes of a value that a collective carries.
inline std::string_view BytesOf(const std::string& value) { return value; }
template <class T>
std::string_view BytesOf(const T& value) {
  static_assert(kIsPlainData<T>,
                "a value of Muster's is a number, an enum, a plain struct or a std::string");
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

// Returns the value that the bytes are. INVALID_ARGUMENT: their number is another one.
template <class T>
Result<T> ValueOf(std::string_view bytes) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::string(bytes);
  } else {
    static_assert(kIsPlainData<T> && std::is_default_constructible_v<T>,
                  "a value of Muster's is a number, an enum, a plain struct or a std::string");
    if (bytes.size() != sizeof(T)) {
      return Status(Code::kInvalidArgument, "a value of " + std::to_string(sizeof(T)) +
                                                " bytes came as " + std::to_string(bytes.size()));
    }
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
}

// Returns INVALID_ARGUMENT unless `whole` elements are `parts` times `part`. A negative number of
// parts is a moved-from object's, which the call itself reports.
inline Status CheckParts(const char* call, const char* name, size_t whole, int parts, size_t part) {
  if (parts <= 0) return Status();
  const auto ranks = static_cast<size_t>(parts);
  if (whole % ranks == 0 && whole / ranks == part) return Status();
  return Status(Code::kInvalidArgument, std::string(call) + ": '" + name + "' has " +
                                            std::to_string(whole) + " elements, expected " +
                                            std::to_string(part) + " for each of " +
                                            std::to_string(parts) + " ranks");
}
inline Status CheckSame(const char* call, size_t in, size_t out) {
  if (in == out) return Status();
  return Status(Code::kInvalidArgument, std::string(call) + ": 'in' has " + std::to_string(in) +
                                            " elements, and 'out' has " + std::to_string(out));
}

// The values that a collective or a function of one rank has returned.
class Values {
 public:
  // The place where the library stores them.
  muster_values** out() { return &values_; }
  Values() = default;
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  ~Values() { muster_values_free(values_); }

  size_t count() const { return muster_values_count(values_); }
  std::string_view operator[](size_t index) const {
    size_t size = 0;
    const void* const bytes = muster_values_get(values_, index, &size);
    return bytes == nullptr ? std::string_view()
                            : std::string_view(static_cast<const char*>(bytes), size);
  }
  std::vector<std::string> All() const {
    std::vector<std::string> all;
    all.reserve(count());
    for (size_t i = 0; i < count(); ++i) all.emplace_back((*this)[i]);
    return all;
  }

 private:
  muster_values* values_ = nullptr;
};

}  // namespace internal

// ---- Options of a call --------------------------------------------------------------------------

// Ends waiting calls from another thread. One object may serve any number of calls, at the same
// time or in turn. A cancelled object stays cancelled: later calls that use it end at once. It must
// outlive the calls that use it. Thread-safe.
class Cancellation {
 public:
  // Ends the process if there is no memory.
  Cancellation() {
    muster_cancellation* made = nullptr;
    if (muster_cancellation_new(&made) != nullptr) std::abort();
    handle_.reset(made);
  }

  // Ends every call that uses this object with CANCELLED. Does not block. Not safe in a signal
  // handler.
  void Cancel() { muster_cancel(handle_.get()); }

  // Returns the object as muster/c.h has it, which this one owns.
  muster_cancellation* handle() const { return handle_.get(); }

 private:
  internal::Handle<muster_cancellation, muster_cancellation_free> handle_;
};

// The line of the program that makes a call: "train.cc:42". Errors and status pages of all ranks
// show it. Callers leave a parameter of this type to its default.
struct CallSite {
  // Returns the line that calls this function.
  static constexpr CallSite Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return CallSite{file, line};
  }

  // The path that the compiler was given, and the line, counted from 1. NULL: unknown.
  const char* file = nullptr;
  int line = 0;
};

// Options of every call that can wait.
struct CallOptions {
  // How long the call may wait. Then it ends with DEADLINE_EXCEEDED, which names what the call
  // waited for. Unset: the job's default, MUSTER_TIMEOUT. Exception: in RunOnRank(), ranks wait for
  // as long as the rank that runs the function lives. A negative time-out is 0.
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;

  // Ends the call with CANCELLED once it is cancelled. Not owned.
  Cancellation* cancellation = nullptr;

  // The type of the bytes of a collective of strings, which must be the same on all ranks.
  // Otherwise the error FAILED_PRECONDITION names both types. NULL: "bytes".
  const char* type_name = nullptr;

  // For a Communicator on GPUs: the CUDA stream (a cudaStream_t) that holds the caller's work on
  // the data. The operation runs after that work; see Communicator. Null: the legacy default
  // stream. Other calls ignore it.
  void* stream = nullptr;
};

namespace internal {

// The options of a call as muster/c.h takes them. Lives until the end of the call's expression.
class COptions {
 public:
  explicit COptions(const CallOptions& options, CallSite site = {}) {
    c_.size = sizeof(c_);
    c_.timeout_ms = -1;
    if (options.timeout) c_.timeout_ms = std::max<int64_t>(options.timeout->count(), 0);
    if (options.cancellation != nullptr) c_.cancellation = options.cancellation->handle();
    c_.file = site.file;
    c_.line = site.line;
    c_.type_name = options.type_name;
    c_.stream = options.stream;
  }
  operator const muster_call_options*() const { return &c_; }

 private:
  muster_call_options c_ = {};
};

}  // namespace internal

// ---- Collectives --------------------------------------------------------------------------------

// The collectives of a Group, and of a Job, which calls them on its world. Values travel through
// the coordinator, so they should be small. Use a Communicator for large arrays.
//
// A collective blocks until all ranks of the group have called it. All ranks must call the same
// collectives in the same order, with the same root, label and size. A group has one call at a
// time: a call from a second thread returns FAILED_PRECONDITION. `root` is an index into the group.
// Every collective may return:
//   DEADLINE_EXCEEDED    names every missing rank, or the coordinator if it could not be reached.
//                        Retry the same call; until it completes, other calls on this group are
//                        refused. The retry's value is ignored and the first one sent is used,
//                        because other ranks may have received it.
//   CANCELLED            CallOptions::cancellation was cancelled. Retry as above. Or the Job is
//                        destroyed.
//   FAILED_PRECONDITION  the ranks called different collectives, or with different sizes; the error
//                        names both sides, and the group is finished. Or a rank that is needed is
//                        leaving, or this process has left, or is a fork of the process that
//                        joined.
//   ABORTED              a member of the job was lost; names its rank, node, pid and the cause. The
//                        epoch is over.
//   INVALID_ARGUMENT     an argument is malformed. Nothing was sent.
//   RESOURCE_EXHAUSTED   the values are over the coordinator's limit; names the flag. The group is
//                        still usable.
//   UNAVAILABLE          the coordinator could not be reached for MUSTER_COORDINATOR_TIMEOUT; names
//                        it and the last error. While Job::health() is OK, retry as above.
template <class Owner>
class Collectives {
 public:
  // Blocks until all ranks have called it. The label says what the program is doing ("epoch 3"). It
  // must be the same on all ranks; errors and status pages show it.
  Status Barrier(const std::string& label = "", const CallOptions& options = {},
                 CallSite site = CallSite::Here()) const {
    return Status::Take(muster_barrier(group(), label.c_str(), internal::COptions(options, site)));
  }

  // Returns the root's value on every rank. Ignores `value` on the other ranks. T: a number, an
  // enum or a plain struct.
  template <class T, class = std::enable_if_t<internal::kIsPlainData<T>>>
  Result<T> Broadcast(const T& value, int root = 0, const CallOptions& options = {},
                      CallSite site = CallSite::Here()) const {
    T shared = value;
    const Status sent = Broadcast(Span<T>(&shared, 1), root, options, site);
    if (!sent.ok()) return sent;
    return shared;
  }
  // The same with a string, whose size only the root needs to know.
  Result<std::string> Broadcast(std::string_view value, int root = 0,
                                const CallOptions& options = {},
                                CallSite site = CallSite::Here()) const {
    internal::Values values;
    const Status sent =
        Status::Take(muster_broadcast_values(group(), value.data(), value.size(), root,
                                             internal::COptions(options, site), values.out()));
    if (!sent.ok()) return sent;
    return std::string(values[0]);
  }
  // The same in place: copies the root's elements into `data` on every rank.
  template <class T>
  Status Broadcast(Span<T> data, int root = 0, const CallOptions& options = {},
                   CallSite site = CallSite::Here()) const {
    static_assert(!std::is_const_v<T> && internal::kIsPlainData<T>,
                  "Broadcast() writes to an array of numbers, enums or plain structs");
    return Status::Take(muster_broadcast(group(), data.data(), data.size() * sizeof(T), root,
                                         internal::COptions(options, site)));
  }

  // Returns every rank's value, in the group's order, at the root; an empty vector on other ranks.
  // T: a number, an enum or a plain struct.
  template <class T, class = std::enable_if_t<internal::kIsPlainData<T>>>
  Result<std::vector<T>> Gather(const T& value, int root = 0, const CallOptions& options = {},
                                CallSite site = CallSite::Here()) const {
    static_assert(!std::is_same_v<T, bool>, "a std::vector<bool> has no elements in memory");
    std::vector<T> all(static_cast<size_t>(group_rank() == root ? group_size() : 0));
    const Status sent = Gather(Span<const T>(&value, 1), Span<T>(all), root, options, site);
    if (!sent.ok()) return sent;
    return all;
  }
  // The same with strings, whose sizes may differ.
  Result<std::vector<std::string>> Gather(std::string_view value, int root = 0,
                                          const CallOptions& options = {},
                                          CallSite site = CallSite::Here()) const {
    internal::Values values;
    const Status sent =
        Status::Take(muster_gather_values(group(), value.data(), value.size(), root,
                                          internal::COptions(options, site), values.out()));
    if (!sent.ok()) return sent;
    return values.All();
  }
  // The same with arrays: writes the elements of all ranks into `all` at the root, one rank after
  // another. There all.size() is the number of ranks times mine.size(), and the arrays do not
  // overlap. Other ranks may pass an empty `all`.
  template <class T>
  Status Gather(internal::NonDeduced<Span<const T>> mine, Span<T> all, int root = 0,
                const CallOptions& options = {}, CallSite site = CallSite::Here()) const {
    static_assert(internal::kIsPlainData<T>, "Gather() takes arrays of numbers, enums or structs");
    if (group_rank() == root) {
      Status fits = internal::CheckParts("Gather", "all", all.size(), group_size(), mine.size());
      if (!fits.ok()) return fits;
    }
    return Status::Take(muster_gather(group(), mine.data(), mine.size() * sizeof(T), all.data(),
                                      root, internal::COptions(options, site)));
  }

  // Returns every rank's value, in the group's order, on every rank. T: a number, an enum or a
  // plain struct.
  template <class T, class = std::enable_if_t<internal::kIsPlainData<T>>>
  Result<std::vector<T>> AllGather(const T& value, const CallOptions& options = {},
                                   CallSite site = CallSite::Here()) const {
    static_assert(!std::is_same_v<T, bool>, "a std::vector<bool> has no elements in memory");
    std::vector<T> all(static_cast<size_t>(std::max(group_size(), 0)));
    const Status sent = AllGather(Span<const T>(&value, 1), Span<T>(all), options, site);
    if (!sent.ok()) return sent;
    return all;
  }
  // The same with strings, whose sizes may differ.
  Result<std::vector<std::string>> AllGather(std::string_view value,
                                             const CallOptions& options = {},
                                             CallSite site = CallSite::Here()) const {
    internal::Values values;
    const Status sent = Status::Take(muster_all_gather_values(
        group(), value.data(), value.size(), internal::COptions(options, site), values.out()));
    if (!sent.ok()) return sent;
    return values.All();
  }
  // The same with arrays: writes the elements of all ranks into `all`, one rank after another.
  // all.size() is the number of ranks times mine.size(). The arrays do not overlap.
  template <class T>
  Status AllGather(internal::NonDeduced<Span<const T>> mine, Span<T> all,
                   const CallOptions& options = {}, CallSite site = CallSite::Here()) const {
    static_assert(internal::kIsPlainData<T>, "AllGather() takes arrays of numbers or structs");
    Status fits = internal::CheckParts("AllGather", "all", all.size(), group_size(), mine.size());
    if (!fits.ok()) return fits;
    return Status::Take(muster_all_gather(group(), mine.data(), mine.size() * sizeof(T), all.data(),
                                          internal::COptions(options, site)));
  }

  // Returns the numbers of all ranks, combined by `op` in the group's order: the same bits on every
  // rank. For bool, operations other than the bitwise ones return UNIMPLEMENTED and send nothing.
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Result<T> AllReduce(const T& value, ReduceOp op = ReduceOp::kSum, const CallOptions& options = {},
                      CallSite site = CallSite::Here()) const {
    T combined = value;
    const Status sent = AllReduce(Span<T>(&combined, 1), op, options, site);
    if (!sent.ok()) return sent;
    return combined;
  }
  // The same in place: combines the elements of `data` of all ranks one by one. After an error
  // `data` is unchanged.
  template <class T>
  Status AllReduce(Span<T> data, ReduceOp op = ReduceOp::kSum, const CallOptions& options = {},
                   CallSite site = CallSite::Here()) const {
    return Status::Take(muster_all_reduce(group(), data.data(), data.size(), internal::TypeOf<T>(),
                                          internal::ToC(op), internal::COptions(options, site)));
  }

 protected:
  Collectives() = default;

 private:
  muster_group* group() const { return static_cast<const Owner*>(this)->group_handle(); }
  int group_rank() const { return muster_group_rank(group()); }
  int group_size() const { return muster_group_size(group()); }
};

namespace internal {

// Frees a group, unless it is a world, which its job owns.
struct FreeGroup {
  void operator()(muster_group* group) const {
    if (!is_world) muster_group_free(group);
  }
  bool is_world = false;
};

}  // namespace internal

// An ordered list of ranks that call collectives together: the whole job (Job::world()) or a part
// of it (Job::NewGroup(), Job::Split()). It may outlive its job, and its calls then return
// CANCELLED; but the group that Job::world() returns must not be used after its job. Move-only.
// Thread-safe, but for its collectives.
class Group : public Collectives<Group> {
 public:
  // Return the caller's index in the group, and the number of ranks.
  int rank() const { return muster_group_rank(handle()); }
  int size() const { return muster_group_size(handle()); }

  // Returns the ranks of the group in their order, as ranks of the world.
  std::vector<int> ranks() const {
    std::vector<int> ranks;
    for (int i = 0; i < size(); ++i) ranks.push_back(muster_group_member(handle(), i));
    return ranks;
  }

  // Returns the group as muster/c.h has it, which this object or its job owns.
  muster_group* handle() const { return handle_.get(); }

  // Not for programs.
  muster_group* group_handle() const { return handle(); }
  explicit Group(muster_group* handle, internal::FreeGroup free = {}) : handle_(handle, free) {}

 private:
  std::unique_ptr<muster_group, internal::FreeGroup> handle_;
};

// ---- Leases -------------------------------------------------------------------------------------

// How often the work of a lease is done.
enum class LeaseScope : int32_t {
  kNode = MUSTER_ONCE_PER_NODE,  // once on each node
  kJob = MUSTER_ONCE_PER_JOB,    // once in the job
};

// The answer to Job::AcquireLease(). Either the caller holds the lease and must do the work, or
// another process has done the work and this object has its outcome.
//
// A held lease ends with Complete(), Fail() or Release(), or when its holder is lost. It never
// expires, however long the work takes. Destroying a held lease releases it and logs a warning; the
// next process that waits gets the lease and does the work again. Destroying the Job releases the
// lease too; Complete() then returns CANCELLED. Move-only. Not thread-safe.
class Lease {
 public:
  // Returns whether the caller holds the lease and must do the work.
  bool held() const { return muster_lease_held(handle()) != 0; }

  // Returns the fencing token, which grows with every grant in the job. Write it beside the output
  // of the work, and never replace output that has a higher token.
  uint64_t token() const { return muster_lease_token(handle()); }

  // Returns the outcome of the work of another process: its bytes, or the error it failed with.
  // FAILED_PRECONDITION if held().
  Result<std::string> result() const {
    const void* bytes = nullptr;
    size_t size = 0;
    const Status outcome = Status::Take(muster_lease_result(handle(), &bytes, &size));
    if (!outcome.ok()) return outcome;
    return std::string(static_cast<const char*>(bytes), size);
  }

  // Ends the lease and publishes the outcome of the work to every process that waits for it or asks
  // later. Blocks until the coordinator has the outcome; does not wait for the other processes.
  //   FAILED_PRECONDITION  the caller does not hold the lease, or no longer: another process has
  //                        done the work or is doing it. Discard what this process has produced.
  //   RESOURCE_EXHAUSTED   the result is over the coordinator's limit; the error names its flag.
  //                        Nothing was sent, and the lease is still held: call Fail() to tell the
  //                        other processes.
  //   UNAVAILABLE          the coordinator could not be reached for MUSTER_COORDINATOR_TIMEOUT.
  //   ABORTED              this process counts as lost.
  Status Complete(std::string_view result) {
    return Status::Take(muster_lease_complete(handle(), result.data(), result.size()));
  }
  // As Complete(), with an error in place of a result. INVALID_ARGUMENT if `error` is OK.
  Status Fail(const Status& error) {
    return Status::Take(
        muster_lease_fail(handle(), static_cast<muster_code>(error.code()), error.message()));
  }
  // Calls Complete() or Fail(). If the result is over the coordinator's limit, publishes that error
  // in its place, so that no other process repeats work that cannot be published.
  Status Publish(const Result<std::string>& outcome) {
    if (!outcome.ok()) return Fail(outcome.status());
    Status published = Complete(*outcome);
    if (published.code() == Code::kResourceExhausted) (void)Fail(published);
    return published;
  }

  // Releases a held lease without an outcome: the next process that asks does the work. Does
  // nothing if the lease is not held. Does not block.
  void Release() { muster_lease_release(handle()); }

  // Returns the lease as muster/c.h has it, which this object owns.
  muster_lease* handle() const { return handle_.get(); }

  // Not for programs.
  explicit Lease(muster_lease* handle) : handle_(handle) {}

 private:
  internal::Handle<muster_lease, muster_lease_free> handle_;
};

// ---- Subscriptions ------------------------------------------------------------------------------

// A subscription to a callback. Its destructor ends it: it blocks while the callback runs, and
// afterwards the callback never runs again. May outlive the job. Move-only.
class Subscription {
 public:
  // An empty subscription.
  Subscription() = default;
  // Ends the subscription now.
  void Reset() { state_.reset(); }

 private:
  friend class Job;
  friend class Store;
  struct State {
    std::shared_ptr<void> callback;  // a std::function, which the library's thread calls
    // The last member, because its destructor waits for the callback.
    internal::Handle<muster_subscription, muster_subscription_free> handle = nullptr;
  };
  explicit Subscription(std::unique_ptr<State> state) : state_(std::move(state)) {}

  // Returns the subscription that `subscribe` makes: a function of muster/c.h, which gets the
  // callback as its context.
  template <class Callback, class Subscribe>
  static Result<Subscription> Make(Callback callback, const Subscribe& subscribe) {
    auto state = std::make_unique<State>();
    const auto kept = std::make_shared<Callback>(std::move(callback));
    state->callback = kept;
    muster_subscription* made = nullptr;
    const Status failed = Status::Take(subscribe(kept.get(), &made));
    if (!failed.ok()) return failed;
    state->handle.reset(made);
    return Subscription(std::move(state));
  }

  std::unique_ptr<State> state_;
};

// ---- The store ----------------------------------------------------------------------------------

// A change below a watched prefix. It may stand for several changes of its key.
struct StoreEvent {
  // The key's content now, or that it was deleted.
  enum class Kind : muster_store_kind {
    kValue = MUSTER_STORE_VALUE,
    kQueue = MUSTER_STORE_QUEUE,
    kBarrier = MUSTER_STORE_BARRIER,
    kDeleted = MUSTER_STORE_DELETED,
  };

  // The key that has changed, and what it holds now.
  std::string key = "";
  Kind kind = Kind::kValue;
  // The value, of kValue.
  std::string value = "";
  // The elements of a queue, or the arrivals in a barrier's latest round.
  uint64_t count = 0;
};

// The answer to Store::CompareAndSet().
struct StoreComparison {
  // Whether the key had the value that was expected, and has the desired one now.
  bool changed = false;
  // The value that the key has afterwards. Unset: it does not exist.
  std::optional<std::string> value;
};

// Keys and values that all processes of the job share, which outlive a coordinator: Job::store().
// See muster/store.h for what each call does and returns, and which errors. Keys, values and
// elements are any bytes. All calls but Watch() block until the coordinator has answered. Do not
// use this after its job. Thread-safe.
class Store {
 public:
  // Gives the key the value, whether it exists or not.
  Status Set(std::string_view key, std::string_view value, const CallOptions& options = {}) const {
    return Status::Take(muster_store_set(job_, key.data(), key.size(), value.data(), value.size(),
                                         internal::COptions(options)));
  }
  // Blocks until the key has a value.
  Result<std::string> Get(std::string_view key, const CallOptions& options = {}) const {
    internal::Values value;
    return OnlyOf(
        muster_store_get(job_, key.data(), key.size(), internal::COptions(options), value.out()),
        value);
  }
  // Blocks until all keys exist at the same time.
  Status Wait(const std::vector<std::string>& keys, const CallOptions& options = {}) const {
    std::vector<const void*> names;
    std::vector<size_t> sizes;
    for (const std::string& key : keys) {
      names.push_back(key.data());
      sizes.push_back(key.size());
    }
    return Status::Take(muster_store_wait(job_, names.data(), sizes.data(), keys.size(),
                                          internal::COptions(options)));
  }
  // Adds to the number that the key holds, and returns the sum.
  Result<int64_t> Add(std::string_view key, int64_t amount, const CallOptions& options = {}) const {
    int64_t sum = 0;
    return NumberOf(
        muster_store_add(job_, key.data(), key.size(), amount, internal::COptions(options), &sum),
        &sum);
  }
  // Gives the key the value `desired` if it has the value `expected`, or, if `expected` is unset,
  // if the key does not exist.
  Result<StoreComparison> CompareAndSet(std::string_view key,
                                        const std::optional<std::string_view>& expected,
                                        std::string_view desired,
                                        const CallOptions& options = {}) const {
    internal::Values value;
    int changed = 0;
    // The pointer of an empty string_view may be NULL, which stands for a key that does not exist.
    const char* const none = "";
    const char* const bytes = !expected                     ? nullptr
                              : expected->data() == nullptr ? none
                                                            : expected->data();
    const Status failed = Status::Take(muster_store_compare_and_set(
        job_, key.data(), key.size(), bytes, expected ? expected->size() : 0, desired.data(),
        desired.size(), internal::COptions(options), &changed, value.out()));
    if (!failed.ok()) return failed;
    StoreComparison comparison;
    comparison.changed = changed != 0;
    if (value.count() > 0) comparison.value = std::string(value[0]);
    return comparison;
  }
  // Appends to the value, and returns its length.
  Result<int64_t> Append(std::string_view key, std::string_view value,
                         const CallOptions& options = {}) const {
    int64_t length = 0;
    return NumberOf(muster_store_append(job_, key.data(), key.size(), value.data(), value.size(),
                                        internal::COptions(options), &length),
                    &length);
  }
  // Returns whether the key existed.
  Result<bool> Delete(std::string_view key, const CallOptions& options = {}) const {
    int existed = 0;
    const Status failed = Status::Take(
        muster_store_delete(job_, key.data(), key.size(), internal::COptions(options), &existed));
    if (!failed.ok()) return failed;
    return existed != 0;
  }
  // Return the keys that begin with the prefix, and their number.
  Result<std::vector<std::string>> List(std::string_view prefix,
                                        const CallOptions& options = {}) const {
    internal::Values keys;
    const Status failed = Status::Take(muster_store_list(job_, prefix.data(), prefix.size(),
                                                         internal::COptions(options), keys.out()));
    if (!failed.ok()) return failed;
    return keys.All();
  }
  Result<int64_t> Count(std::string_view prefix, const CallOptions& options = {}) const {
    int64_t count = 0;
    return NumberOf(
        muster_store_count(job_, prefix.data(), prefix.size(), internal::COptions(options), &count),
        &count);
  }
  // Appends an element to the queue, and returns the number of its elements.
  Result<int64_t> Push(std::string_view key, std::string_view element,
                       const CallOptions& options = {}) const {
    int64_t length = 0;
    return NumberOf(muster_store_push(job_, key.data(), key.size(), element.data(), element.size(),
                                      internal::COptions(options), &length),
                    &length);
  }
  // Removes and returns the first element of the queue. Blocks until there is one.
  Result<std::string> Pop(std::string_view key, const CallOptions& options = {}) const {
    internal::Values element;
    return OnlyOf(
        muster_store_pop(job_, key.data(), key.size(), internal::COptions(options), element.out()),
        element);
  }
  // Returns the number of the queue's elements.
  Result<int64_t> Length(std::string_view key, const CallOptions& options = {}) const {
    int64_t length = 0;
    return NumberOf(
        muster_store_length(job_, key.data(), key.size(), internal::COptions(options), &length),
        &length);
  }
  // Arrives at the barrier, and blocks until `count` arrivals have come since the last round was
  // complete. Returns the arrival's place in its round, from 1.
  Result<int64_t> Barrier(std::string_view key, int64_t count,
                          const CallOptions& options = {}) const {
    int64_t place = 0;
    return NumberOf(muster_store_barrier(job_, key.data(), key.size(), count,
                                         internal::COptions(options), &place),
                    &place);
  }
  // Calls `callback` for each existing key that begins with the prefix, and then after each change
  // of such a key, until the subscription ends. An error is the last call: kAborted, kCancelled
  // when the Job has left or is destroyed, or an error of the prefix. Calls it from a thread of the
  // library, which serves all watches of the job. It may call the store. It must not throw. Does
  // not block.
  Result<Subscription> Watch(std::string_view prefix,
                             std::function<void(const Result<StoreEvent>&)> callback) const {
    return Subscription::Make(std::move(callback), [&](void* context, muster_subscription** made) {
      return muster_store_watch(job_, prefix.data(), prefix.size(), &TellOfEvent, context, made);
    });
  }

  // Not for programs.
  explicit Store(muster_job* job) : job_(job) {}

 private:
  // Calls the callback that Watch() has passed on.
  static void TellOfEvent(void* context, const muster_store_event* event,
                          const muster_status* error) noexcept {
    const auto& callback = *static_cast<std::function<void(const Result<StoreEvent>&)>*>(context);
    if (error != nullptr) return callback(Status::Copy(error));
    StoreEvent copied;
    copied.key.assign(static_cast<const char*>(event->key), event->key_size);
    copied.kind = static_cast<StoreEvent::Kind>(event->kind);
    copied.value.assign(static_cast<const char*>(event->value), event->value_size);
    copied.count = event->count;
    callback(copied);
  }
  static Result<int64_t> NumberOf(muster_status* status, const int64_t* number) {
    const Status failed = Status::Take(status);
    if (!failed.ok()) return failed;
    return *number;
  }
  static Result<std::string> OnlyOf(muster_status* status, const internal::Values& values) {
    const Status failed = Status::Take(status);
    if (!failed.ok()) return failed;
    return std::string(values[0]);
  }

  muster_job* job_;
};

namespace internal {

// The types of the result of work for all: what travels, and what callers get.
template <class R>
struct WorkResult {
  using Return = Result<R>;
};
template <class T>
struct WorkResult<Result<T>> {
  using Return = Result<T>;
};
template <>
struct WorkResult<Status> {
  using Return = Status;
};
template <>
struct WorkResult<void> {
  using Return = Status;
};
template <class Work>
using WorkReturn = typename WorkResult<std::decay_t<std::invoke_result_t<Work&>>>::Return;

// Calls `work`. An exception becomes INTERNAL, because none may reach the library.
template <class Work>
WorkReturn<Work> CallWork(Work& work) {
  const auto call = [&work]() -> WorkReturn<Work> {
    if constexpr (std::is_void_v<std::invoke_result_t<Work&>>) {
      work();
      return Status();
    } else {
      return work();
    }
  };
#if defined(__cpp_exceptions)
  try {
    return call();
  } catch (const std::exception& thrown) {
    return Status(Code::kInternal, std::string("an exception: ") + thrown.what());
  } catch (...) {
    return Status(Code::kInternal, "an exception of an unknown type");
  }
#else
  return call();
#endif
}

inline Result<std::string> EncodeOutcome(const Status& status) {
  if (!status.ok()) return status;
  return std::string();
}
template <class T>
Result<std::string> EncodeOutcome(const Result<T>& outcome) {
  if (!outcome.ok()) return outcome.status();
  return std::string(BytesOf(*outcome));
}

template <class Return>
Return DecodeOutcome(const Status& status, std::string_view bytes) {
  if (!status.ok()) return status;
  if constexpr (std::is_same_v<Return, Status>) {
    return Status();
  } else {
    return ValueOf<typename Return::value_type>(bytes);
  }
}

// Does the work of muster_run_on_rank(), and passes its value to the library.
template <class Work>
muster_status* RunForAll(void* work, muster_values* value) noexcept {
  const Result<std::string> outcome = EncodeOutcome(CallWork(*static_cast<Work*>(work)));
  if (!outcome.ok()) return outcome.status().ToC();
  return muster_values_set(value, outcome->data(), outcome->size());
}

}  // namespace internal

// ---- The job ------------------------------------------------------------------------------------

// How a process joins its job: a set of the variables of docs/environment.md. Move-only.
class JobOptions {
 public:
  // Returns options without any variable: serial mode, a job of this process alone.
  static Result<JobOptions> Empty() { return Make(muster_options_new); }
  // Returns options with the variables of this process's environment.
  static Result<JobOptions> FromEnvironment() { return Make(muster_options_from_environment); }

  // Sets one of Muster's variables, such as "MUSTER_COORDINATOR" to "host:port", or removes it.
  // Does not change the environment of the process. Job::Join() checks the values.
  // INVALID_ARGUMENT: joining depends on no variable of this name.
  Status Set(const std::string& variable, const std::string& value) {
    return Status::Take(muster_options_set(handle(), variable.c_str(), value.c_str()));
  }
  Status Remove(const std::string& variable) {
    return Status::Take(muster_options_set(handle(), variable.c_str(), nullptr));
  }

  // Return the rank and the local rank that these variables give, whether they are Muster's or
  // another launcher's. -1: they give none, or contradict each other.
  int rank() const { return muster_options_rank(handle()); }
  int local_rank() const { return muster_options_local_rank(handle()); }

  // Returns the options as muster/c.h has them, which this object owns.
  muster_options* handle() const { return handle_.get(); }

 private:
  explicit JobOptions(muster_options* handle) : handle_(handle) {}
  static Result<JobOptions> Make(muster_status* (*make)(muster_options**)) {
    muster_options* made = nullptr;
    const Status failed = Status::Take(make(&made));
    if (!failed.ok()) return failed;
    return JobOptions(made);
  }

  internal::Handle<muster_options, muster_options_free> handle_;
};

// A process of the job, as every process sees it.
struct Member {
  int rank = 0;        // in the world
  int local_rank = 0;  // index among the processes of its node
  int node_rank = 0;   // index of its node
  // The rank in the previous epoch, if the process was a member of it. Unset for newcomers, and for
  // all members of the first epoch.
  std::optional<int> previous_rank = std::nullopt;
  // The name of the node, whose processes share a file system and GPUs.
  std::string node_id = "";
  // The host's name and the process id there. For messages only.
  std::string hostname = "";
  int64_t pid = 0;
  // "zone/rack/switch", or empty.
  std::string topology = "";
};

// A process's membership in its job: its rank, collectives of small objects, and leases. The
// destructor ends the membership, and does not wait for other members: without a Leave() before it,
// they see this one as lost. Move-only. Thread-safe, but one thread destroys or moves it.
//
// When a member of the job is lost, every waiting and later call of this process ends with ABORTED.
// The error names the lost member's rank, node and pid, and the cause. In an elastic job, Rejoin()
// then leads into the next epoch.
//
// The daemon may be killed and restarted at any time. Calls wait until it is back, and then end as
// if nothing had happened. If this process cannot reach it for MUSTER_COORDINATOR_TIMEOUT, calls
// return UNAVAILABLE. In a child of fork(), calls on the parent's Job return FAILED_PRECONDITION.
class Job : public Collectives<Job> {
 public:
  // Joins the job, and blocks until all its members have joined, for at most MUSTER_TIMEOUT.
  // Returns the error of `options` if it is one, so that JobOptions::FromEnvironment() can be
  // passed directly.
  //   DEADLINE_EXCEEDED    the time-out has passed;
  //   UNAVAILABLE          the coordinator could not be reached;
  //   INVALID_ARGUMENT     an option is invalid or contradicts the other members;
  //   FAILED_PRECONDITION  the job is full or finished, or the versions of SDK and daemon do not
  //                        work together;
  //   ABORTED              the job has failed;
  //   NOT_FOUND            the coordinator serves another job;
  //   ALREADY_EXISTS       the rank is taken; or this process has already joined the job;
  //   RESOURCE_EXHAUSTED   this process cannot start a thread, or the coordinator accepts no more
  //                        members;
  //   CANCELLED            `cancellation` was cancelled.
  static Result<Job> Join(const JobOptions& options, Cancellation* cancellation = nullptr) {
    muster_job* joined = nullptr;
    const Status failed = Status::Take(muster_join(
        options.handle(), cancellation == nullptr ? nullptr : cancellation->handle(), &joined));
    if (!failed.ok()) return failed;
    return Job(joined);
  }
  static Result<Job> Join(const Result<JobOptions>& options, Cancellation* cancellation = nullptr) {
    if (!options.ok()) return options.status();
    return Join(*options, cancellation);
  }

  // Ends this process's part in the job. Blocks until every member is leaving or lost, so that no
  // process ends while another still needs it. Returns OK even if a member was lost. Idempotent.
  // Later collectives and leases return FAILED_PRECONDITION.
  //   DEADLINE_EXCEEDED  names the members that are not leaving; this process then counts as lost.
  Status Leave(const CallOptions& options = {}) {
    return Status::Take(muster_leave(handle(), internal::COptions(options)));
  }

  // In an elastic job (musterd --min-world-size), moves this process from the current epoch to the
  // next one: after a loss, or to admit newcomers. If the epoch is not broken yet, this breaks it:
  // the calls of all other members return ABORTED, and they must call Rejoin() too. Blocks until
  // the next epoch forms.
  //
  // Afterwards the functions below describe the new epoch. Groups and communicators of the old
  // epoch return its error; make new ones. A held lease stays held. Survivors keep their order, and
  // rank 0 is a survivor if there is one. So `Broadcast(state, 0)` gives the state of the job to
  // all ranks; see resumed(). Call it from one thread. In serial mode it changes nothing.
  //   FAILED_PRECONDITION  the job is not elastic, or too few members are left, or another thread
  //                        is already in Rejoin(), or this process has left;
  //   ABORTED              this process counts as lost and cannot rejoin; start a new process;
  //   DEADLINE_EXCEEDED    names the members that the job waits for. May be called again;
  //   CANCELLED, UNAVAILABLE  as in Collectives.
  Status Rejoin(const CallOptions& options = {}) {
    return Status::Take(muster_rejoin(handle(), internal::COptions(options)));
  }
  // Returns the number of the current epoch. It grows from epoch to epoch.
  uint64_t epoch() const { return muster_epoch(handle()); }
  // Returns whether the epoch continues an earlier one. If so, rank 0 is a survivor and holds the
  // job's state. self().previous_rank says whether this process is a survivor.
  bool resumed() const { return muster_resumed(handle()) != 0; }
  // Returns the number of processes that wait for a place and would get one in the next epoch. Does
  // not block.
  int NewcomersWaiting() const { return muster_newcomers_waiting(handle()); }

  // Asks all ranks to stop at the same step, for instance because this machine is about to be taken
  // away. Blocks until the coordinator has the request. Errors as in Collectives.
  Status RequestStop(const CallOptions& options = {}) {
    return Status::Take(muster_request_stop(handle(), internal::COptions(options)));
  }
  // Returns whether a collective of the world in this epoch has told this process that a stop was
  // requested. It becomes true at the same collective on all ranks, and stays true. Does not block.
  bool StopRequested() const { return muster_stop_requested(handle()) != 0; }

  // Return this process's index in the world, the number of processes, its index on its node, and
  // the number of processes there. All indices count from 0.
  int rank() const { return muster_rank(handle()); }
  int world_size() const { return muster_world_size(handle()); }
  int local_rank() const { return muster_local_rank(handle()); }
  int local_world_size() const { return muster_local_world_size(handle()); }
  // Return this node's index, the number of nodes, and this node's name: MUSTER_NODE_ID, or else
  // host name and boot id.
  int node_rank() const { return muster_node_rank(handle()); }
  int num_nodes() const { return muster_num_nodes(handle()); }
  std::string node_id() const { return Text(muster_node_id(handle(), rank())); }
  // Returns whether this process is rank 0.
  bool is_main() const { return rank() == 0; }
  // Returns false in serial mode.
  bool is_distributed() const { return muster_is_distributed(handle()) != 0; }
  // Returns the job's id.
  std::string id() const { return Text(muster_job_id(handle())); }

  // Returns the member of a rank in the current epoch. INVALID_ARGUMENT: there is no such rank. Do
  // not call these while another thread is in Rejoin().
  Result<Member> member(int rank) const {
    muster_member c = MUSTER_MEMBER;
    const Status failed = Status::Take(muster_member_of(handle(), rank, &c));
    if (!failed.ok()) return failed;
    Member member;
    member.rank = c.rank;
    member.local_rank = c.local_rank;
    member.node_rank = c.node_rank;
    if (c.previous_rank >= 0) member.previous_rank = c.previous_rank;
    member.node_id = c.node_id;
    member.hostname = c.hostname;
    member.pid = c.pid;
    member.topology = c.topology;
    return member;
  }
  // Return all members, in the order of their ranks, and this one. self() ends the process if this
  // object was moved from.
  std::vector<Member> members() const {
    std::vector<Member> members;
    for (int rank = 0; rank < world_size(); ++rank) members.push_back(*member(rank));
    return members;
  }
  Member self() const { return *member(rank()); }

  // Returns the group of all ranks of the current epoch. The job owns it: do not use it after this
  // job.
  Group world() const { return Group(group_handle(), internal::FreeGroup{true}); }

  // Returns a group of these ranks, in this order. All of them must call it with the same name and
  // list. Does not block. Two groups of one name must have the same list or share no rank.
  //   INVALID_ARGUMENT  the name or the list is empty; a rank is listed twice or out of range, or
  //                     the caller's own rank is missing.
  Result<Group> NewGroup(const std::string& name, const std::vector<int>& ranks) {
    muster_group* made = nullptr;
    // The pointer of an empty vector may be NULL, which the library takes for a missing argument.
    const int none = -1;
    const Status failed = Status::Take(muster_group_new(
        handle(), name.c_str(), ranks.empty() ? &none : ranks.data(), ranks.size(), &made));
    if (!failed.ok()) return failed;
    return Group(made);
  }

  // Divides the world into groups, one for each color, as MPI_Comm_split does. Returns the group of
  // the caller's color, whose ranks are ordered by key, and by rank where keys are equal. Returns
  // nullopt to callers that pass no color. A collective of the world; errors as in Collectives.
  Result<std::optional<Group>> Split(std::optional<int> color, int key = 0,
                                     const CallOptions& options = {},
                                     CallSite site = CallSite::Here()) {
    muster_group* made = nullptr;
    const Status failed = Status::Take(muster_split(handle(), color ? &*color : nullptr, key,
                                                    internal::COptions(options, site), &made));
    if (!failed.ok()) return failed;
    if (made == nullptr) return std::optional<Group>();
    return std::optional<Group>(Group(made));
  }

  // Returns the keys and values that all processes of the job share. Does not block.
  Store store() const { return Store(handle()); }

  // Asks for the lease on work that is done once per node or once per job. Blocks until this
  // process holds the lease, or another process has completed the work. Errors as in Collectives.
  //   DEADLINE_EXCEEDED  names the process that holds the lease.
  Result<Lease> AcquireLease(const std::string& name, LeaseScope scope,
                             const CallOptions& options = {}) {
    muster_lease* acquired = nullptr;
    const Status failed = Status::Take(
        muster_acquire_lease(handle(), name.c_str(), static_cast<muster_lease_scope>(scope),
                             internal::COptions(options), &acquired));
    if (!failed.ok()) return failed;
    return Lease(acquired);
  }

  // Runs `work` on one process of each node, the first to call this, and returns its value on all
  // processes of the node; they block until it has run. `work` returns T, Result<T>, Status or
  // void, where T is a number, an enum, a plain struct or a std::string. Returns Result<T>, or
  // Status if the work has no value. An error of the work is returned on all processes, and an
  // exception as INTERNAL. If the process that runs the work dies, another one runs it again, so
  // the work must be repeatable.
  template <class Work>
  auto RunOncePerNode(const std::string& name, Work&& work, const CallOptions& options = {}) {
    return RunOnce(name, LeaseScope::kNode, work, options);
  }
  // The same, on one process of the job.
  template <class Work>
  auto RunOncePerJob(const std::string& name, Work&& work, const CallOptions& options = {}) {
    return RunOnce(name, LeaseScope::kJob, work, options);
  }

  // Runs `work` on one rank, and returns its value on every rank. A collective of the world. `work`
  // is as in RunOncePerNode(). An error of the work is returned on every rank, with the name of the
  // rank that ran it, and an exception as INTERNAL. While the work runs, collectives of its thread
  // return the caller's own value at once. The other ranks wait as long as the rank that runs the
  // work lives, or for the time-out if one is given.
  //   ABORTED             that rank, or another member, was lost;
  //   UNAVAILABLE         the coordinator could not be reached for MUSTER_COORDINATOR_TIMEOUT;
  //   RESOURCE_EXHAUSTED  on every rank: the value is over the coordinator's limit.
  template <class Work>
  auto RunOnRank(int rank, Work&& work, const CallOptions& options = {},
                 CallSite site = CallSite::Here()) {
    auto call = [&work] { return work(); };
    using Call = decltype(call);
    internal::Values value;
    const Status done =
        Status::Take(muster_run_on_rank(handle(), rank, internal::RunForAll<Call>, &call,
                                        internal::COptions(options, site), value.out()));
    return internal::DecodeOutcome<internal::WorkReturn<Call>>(done, value[0]);
  }
  // The same, on rank 0.
  template <class Work>
  auto RunOnMain(Work&& work, const CallOptions& options = {}, CallSite site = CallSite::Here()) {
    return RunOnRank(0, work, options, site);
  }

  // Returns OK while no member of the current epoch is lost and the coordinator can be reached.
  // Afterwards returns the error that calls end with. Does not block.
  Status health() const { return Status::Take(muster_health(handle())); }
  // Blocks until health() is an error, and returns it. Returns OK after `timeout`.
  Status AwaitFailure(std::chrono::milliseconds timeout) const {
    return Status::Take(muster_await_failure(handle(), timeout.count()));
  }
  // Calls `callback` once, with the error of health(), as soon as it is known; with CANCELLED if
  // the Job is destroyed before. Calls it from a thread of the library, or at once from this
  // thread. It must not block, must not throw, and must not call the Job. The subscription is for
  // the current epoch: subscribe again after Rejoin(). Does not block.
  Result<Subscription> OnFailure(std::function<void(const Status&)> callback) const {
    using Callback = std::function<void(const Status&)>;
    const muster_failure_callback call = [](void* context, const muster_status* why) noexcept {
      (*static_cast<Callback*>(context))(Status::Copy(why));
    };
    return Subscription::Make(std::move(callback), [&](void* context, muster_subscription** made) {
      return muster_on_failure(handle(), call, context, made);
    });
  }

  // Returns the job as muster/c.h has it, which this object owns.
  muster_job* handle() const { return handle_.get(); }

  // Not for programs.
  muster_group* group_handle() const { return muster_world(handle()); }

 private:
  explicit Job(muster_job* handle) : handle_(handle) {}
  static std::string Text(const char* text) { return text == nullptr ? "" : text; }

  template <class Work>
  internal::WorkReturn<Work> RunOnce(const std::string& name, LeaseScope scope, Work& work,
                                     const CallOptions& options) {
    Result<Lease> lease = AcquireLease(name, scope, options);
    if (!lease.ok()) return lease.status();
    if (!lease->held()) {
      const Result<std::string> outcome = lease->result();
      return internal::DecodeOutcome<internal::WorkReturn<Work>>(
          outcome.status(), outcome.ok() ? std::string_view(*outcome) : std::string_view());
    }
    internal::WorkReturn<Work> value = internal::CallWork(work);
    const Status published = lease->Publish(internal::EncodeOutcome(value));
    if (!published.ok()) return published;
    return value;
  }

  internal::Handle<muster_job, muster_job_free> handle_;
};

// ---- Communicators ------------------------------------------------------------------------------

// Options of Communicator::Create().
struct CommunicatorOptions {
  // "gloo", "nccl", or another backend that is linked. Empty: MUSTER_BACKEND, or else the best one,
  // which is "nccl" on a machine with GPUs, CUDA and NCCL.
  std::string backend = "";
  // The IP address or network interface that peers connect to. Empty: MUSTER_INTERFACE, or else the
  // address from which this process reaches the coordinator.
  std::string interface = "";
  // The default time-out of all operations, including Create(). Unset: the job's default.
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;
  // Ends Create() with CANCELLED once it is cancelled. Not owned.
  Cancellation* cancellation = nullptr;
};

// Arrays that move from rank to rank. Sizes are numbers of elements of T, a type that has an
// ElementType.
//
// With the backend "nccl", an array may be in the memory of this process's GPU (a span of device
// pointers), or in host memory, which is copied. With other backends it must be in host memory. An
// operation on a GPU runs after the work that is on CallOptions::stream at the time of the call.
// The legacy default stream waits for all ordinary streams. Name the stream if it was made with
// cudaStreamNonBlocking or is a per-thread default stream. When the operation returns, its result
// is visible to the host and to all later work on any stream.
//
// An operation blocks until this rank's part in it is done. All ranks must call the same operations
// in the same order, with the same type and sizes. Make one call at a time: a call from a second
// thread is FAILED_PRECONDITION. Every operation may return:
//   INVALID_ARGUMENT   an array has another size than the operation needs. Nothing was sent;
//   UNIMPLEMENTED      the backend does not support the type or the operation. Nothing was sent;
//   ABORTED, DEADLINE_EXCEEDED, CANCELLED, UNAVAILABLE, INTERNAL
//                      as in Collectives. The communicator is finished, because a peer may have
//                      received a part of the data: later calls return the same error.
// Move-only.
class Communicator {
 public:
  // Creates a communicator over the ranks of `group`, or all ranks of `job`, which all must call
  // it. Blocks until this rank is connected to all others. The backend "nccl" makes this rank's GPU
  // current on the calling thread, as cudaSetDevice() does: the only visible GPU, or else the GPU
  // whose index is the local rank. Errors as in Collectives, and
  //   NOT_FOUND            the backend is not linked (lists the linked ones), or the network
  //                        interface or address does not exist (lists the existing ones);
  //   FAILED_PRECONDITION  the ranks chose different backends, or addresses that cannot reach each
  //                        other; or a rank failed before it was connected; or this machine lacks
  //                        what the named backend needs (says what);
  //   RESOURCE_EXHAUSTED   this process cannot start a thread. All may call it again.
  static Result<Communicator> Create(const Group& group, const CommunicatorOptions& options = {}) {
    return CreateOn(group.handle(), options);
  }
  static Result<Communicator> Create(const Job& job, const CommunicatorOptions& options = {}) {
    return CreateOn(job.group_handle(), options);
  }

  // Return this process's index in the group, and the number of ranks.
  int rank() const { return muster_communicator_rank(handle()); }
  int size() const { return muster_communicator_size(handle()); }
  // Returns "gloo" or "nccl". In a group of one rank, returns "serial" instead of "gloo". Empty if
  // moved from.
  std::string backend() const {
    const char* const name = muster_communicator_backend(handle());
    return name == nullptr ? "" : name;
  }

  // Combines the data of all ranks by `op`, in place, on every rank.
  template <class T>
  Status AllReduce(Span<T> data, ReduceOp op = ReduceOp::kSum, const CallOptions& options = {}) {
    return AllReduce<T>(data, data, op, options);
  }
  // Combines `in` of all ranks by `op`, and writes the result to `out` on every rank. They have the
  // same size. They are the same memory or do not overlap.
  template <class T>
  Status AllReduce(internal::NonDeduced<Span<const T>> in, Span<T> out,
                   ReduceOp op = ReduceOp::kSum, const CallOptions& options = {}) {
    Status fits = internal::CheckSame("AllReduce", in.size(), out.size());
    if (!fits.ok()) return fits;
    return Status::Take(muster_communicator_all_reduce(handle(), in.data(), out.data(), in.size(),
                                                       internal::TypeOf<T>(), internal::ToC(op),
                                                       internal::COptions(options)));
  }

  // Combines each array of all ranks by `op`, in place, such as the gradients of a model. Takes one
  // launch of NCCL or one pass of Gloo, and not one for each array. All ranks pass as many arrays,
  // with the same sizes.
  template <class T>
  Status AllReduceCoalesced(const std::vector<Span<T>>& arrays, ReduceOp op = ReduceOp::kSum,
                            const CallOptions& options = {}) {
    std::vector<void*> data;
    std::vector<size_t> counts;
    const std::vector<muster_type> types(arrays.size(), internal::TypeOf<T>());
    for (const Span<T>& array : arrays) {
      data.push_back(array.data());
      counts.push_back(array.size());
    }
    return Status::Take(muster_communicator_all_reduce_coalesced(
        handle(), data.data(), counts.data(), types.data(), arrays.size(), internal::ToC(op),
        internal::COptions(options)));
  }

  // Copies the root's `data` into `data` on every rank.
  template <class T>
  Status Broadcast(Span<T> data, int root = 0, const CallOptions& options = {}) {
    return Status::Take(muster_communicator_broadcast(handle(), data.data(), data.size(),
                                                      internal::TypeOf<T>(), root,
                                                      internal::COptions(options)));
  }

  // Combines `in` of all ranks by `op`, and writes the result to `out` at the root. On other ranks
  // `out` is not touched and may be empty. `in` and `out` are the same memory or do not overlap.
  template <class T>
  Status Reduce(internal::NonDeduced<Span<const T>> in, Span<T> out, ReduceOp op = ReduceOp::kSum,
                int root = 0, const CallOptions& options = {}) {
    if (rank() == root) {
      Status fits = internal::CheckSame("Reduce", in.size(), out.size());
      if (!fits.ok()) return fits;
    }
    return Status::Take(muster_communicator_reduce(handle(), in.data(), out.data(), in.size(),
                                                   internal::TypeOf<T>(), internal::ToC(op), root,
                                                   internal::COptions(options)));
  }

  // Writes `in` of all ranks to `out`, one after another in rank order, on every rank. out.size()
  // == size() * in.size(). `in` is this rank's place in `out`, or does not overlap it.
  template <class T>
  Status AllGather(internal::NonDeduced<Span<const T>> in, Span<T> out,
                   const CallOptions& options = {}) {
    Status fits = internal::CheckParts("AllGather", "out", out.size(), size(), in.size());
    if (!fits.ok()) return fits;
    return Status::Take(muster_communicator_all_gather(handle(), in.data(), out.data(), in.size(),
                                                       internal::TypeOf<T>(),
                                                       internal::COptions(options)));
  }
  // The same with counts[i] elements of rank i. `counts` has size() elements, and is the same on
  // all ranks; in.size() == counts[rank()], and out.size() is the sum of all counts.
  template <class T>
  Status AllGatherUneven(internal::NonDeduced<Span<const T>> in, Span<T> out,
                         Span<const size_t> counts, const CallOptions& options = {}) {
    Status fits = CheckCounts(in.size(), out.size(), counts);
    if (!fits.ok()) return fits;
    return Status::Take(muster_communicator_all_gather_uneven(handle(), in.data(), out.data(),
                                                              counts.data(), internal::TypeOf<T>(),
                                                              internal::COptions(options)));
  }

  // Combines `in` of all ranks by `op`, and writes this rank's part of the result to `out`.
  // in.size() == size() * out.size(). `out` is this rank's place in `in`, or does not overlap it.
  template <class T>
  Status ReduceScatter(internal::NonDeduced<Span<const T>> in, Span<T> out,
                       ReduceOp op = ReduceOp::kSum, const CallOptions& options = {}) {
    Status fits = internal::CheckParts("ReduceScatter", "in", in.size(), size(), out.size());
    if (!fits.ok()) return fits;
    return Status::Take(muster_communicator_reduce_scatter(
        handle(), in.data(), out.data(), out.size(), internal::TypeOf<T>(), internal::ToC(op),
        internal::COptions(options)));
  }

  // Sends part i of `in` to rank i, and receives part i of `out` from rank i. Both have size()
  // parts of one size, which is the same on all ranks. They do not overlap.
  template <class T>
  Status AllToAll(internal::NonDeduced<Span<const T>> in, Span<T> out,
                  const CallOptions& options = {}) {
    const size_t part = in.size() / static_cast<size_t>(std::max(size(), 1));
    Status fits = internal::CheckSame("AllToAll", in.size(), out.size());
    if (fits.ok()) fits = internal::CheckParts("AllToAll", "in", in.size(), size(), part);
    if (!fits.ok()) return fits;
    return Status::Take(muster_communicator_all_to_all(
        handle(), in.data(), out.data(), part, internal::TypeOf<T>(), internal::COptions(options)));
  }

  // Send to, or receive from, one rank. Sends and receives between two ranks match in order. A Send
  // may block until the peer receives. So two ranks that both call Send first may wait for each
  // other; use SendRecv().
  template <class T>
  Status Send(Span<T> data, int peer, const CallOptions& options = {}) {
    return Status::Take(muster_communicator_send(handle(), data.data(), data.size(),
                                                 internal::TypeOf<std::remove_const_t<T>>(), peer,
                                                 internal::COptions(options)));
  }
  template <class T>
  Status Recv(Span<T> data, int peer, const CallOptions& options = {}) {
    return Status::Take(muster_communicator_recv(handle(), data.data(), data.size(),
                                                 internal::TypeOf<T>(), peer,
                                                 internal::COptions(options)));
  }
  // Sends `out` to rank `to` and receives `in` from rank `from` at the same time, so that all ranks
  // of a ring may call it. They do not overlap.
  template <class T>
  Status SendRecv(internal::NonDeduced<Span<const T>> out, int to, Span<T> in, int from,
                  const CallOptions& options = {}) {
    return Status::Take(
        muster_communicator_send_recv(handle(), out.data(), out.size(), to, in.data(), in.size(),
                                      from, internal::TypeOf<T>(), internal::COptions(options)));
  }

  // Blocks until all ranks have called it. Does not use the coordinator.
  Status Barrier(const CallOptions& options = {}) {
    return Status::Take(muster_communicator_barrier(handle(), internal::COptions(options)));
  }

  // Returns the communicator as muster/c.h has it, which this object owns.
  muster_communicator* handle() const { return handle_.get(); }

 private:
  explicit Communicator(muster_communicator* handle) : handle_(handle) {}

  static Result<Communicator> CreateOn(muster_group* group, const CommunicatorOptions& options) {
    const auto given = [](const std::string& text) {
      return text.empty() ? nullptr : text.c_str();
    };
    CallOptions call;
    call.timeout = options.timeout;
    call.cancellation = options.cancellation;
    muster_communicator* made = nullptr;
    const Status failed = Status::Take(muster_communicator_new(
        group, given(options.backend), given(options.interface), internal::COptions(call), &made));
    if (!failed.ok()) return failed;
    return Communicator(made);
  }

  Status CheckCounts(size_t in, size_t out, Span<const size_t> counts) const {
    Status fits = internal::CheckParts("AllGatherUneven", "counts", counts.size(), size(), 1);
    if (!fits.ok() || handle() == nullptr) return fits;
    size_t sum = 0;
    for (const size_t count : counts) sum += count;
    if (in == counts[static_cast<size_t>(rank())] && out == sum) return Status();
    return Status(Code::kInvalidArgument, "AllGatherUneven: 'in' has " + std::to_string(in) +
                                              " elements and 'out' has " + std::to_string(out) +
                                              ", which is not what 'counts' says");
  }

  internal::Handle<muster_communicator, muster_communicator_free> handle_;
};

// ---- Calls that do not block --------------------------------------------------------------------

// Calls that Start() runs on a thread of their own. The destructor blocks until they have ended.
// Move-only.
class PendingCalls {
 public:
  // Returns a descriptor that becomes readable when the calls have ended, and stays so as long as
  // this object. Do not read or close it.
  int fd() const { return muster_pending_fd(handle()); }
  // Returns whether the calls have ended. Does not block.
  bool done() const { return muster_pending_done(handle()) != 0; }
  // Blocks until the calls have ended, and returns their status. May be called any number of times.
  // Returns FAILED_PRECONDITION at once in a child of fork(), where the calls never end.
  // Thread-safe.
  Status Wait() const { return Status::Take(muster_pending_wait(handle())); }

  // Returns the object as muster/c.h has it, which this one owns.
  muster_pending* handle() const { return state_ == nullptr ? nullptr : state_->handle.get(); }

 private:
  template <class Calls>
  friend Result<PendingCalls> Start(Calls calls);
  struct State {
    std::function<Status()> calls;
    // The last member, because its destructor waits for the calls.
    internal::Handle<muster_pending, muster_pending_free> handle = nullptr;
  };
  explicit PendingCalls(std::unique_ptr<State> state) : state_(std::move(state)) {}

  std::unique_ptr<State> state_;
};

// Runs `calls`, a function that returns a Status, on a thread of its own and returns at once: for
// programs with an event loop, or that wait for signals. A Cancellation in the options of the calls
// ends them early. PendingCalls::Wait() returns the status of `calls`; an exception becomes
// INTERNAL.
//
//   Result<PendingCalls> step = Start([&] { return job.Barrier("step 1", {{}, &cancellation}); });
//   if (!step.ok()) return step.status();
//   pollfd ready[] = {{step->fd(), POLLIN, 0}, {signals, POLLIN, 0}};
//   poll(ready, 2, -1);
//   if (ready[1].revents != 0) cancellation.Cancel();
//   return step->Wait();
//
// RESOURCE_EXHAUSTED: the process cannot get another thread or descriptor; `calls` has not run.
template <class Calls>
Result<PendingCalls> Start(Calls calls) {
  auto state = std::make_unique<PendingCalls::State>();
  state->calls = [calls = std::move(calls)]() mutable { return internal::CallWork(calls); };
  const muster_calls run = [](void* context) noexcept {
    return static_cast<PendingCalls::State*>(context)->calls().ToC();
  };
  muster_pending* started = nullptr;
  const Status failed = Status::Take(muster_start(run, state.get(), &started));
  if (!failed.ok()) return failed;
  state->handle.reset(started);
  return PendingCalls(std::move(state));
}

// ---- The log ------------------------------------------------------------------------------------

// The severity of a line of the log: the values of MUSTER_LOG_LEVEL (docs/environment.md).
enum class LogLevel : int32_t {
  kDebug = MUSTER_LOG_DEBUG,
  kInfo = MUSTER_LOG_INFO,
  kWarning = MUSTER_LOG_WARNING,
  kError = MUSTER_LOG_ERROR,
};

// Receives a line of the library's log, without its line end. The library calls it from any thread,
// for one line at a time. It must not throw, and must not call the library.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

// Sends the log of the whole process to `sink`, which gets every line, whatever MUSTER_LOG_LEVEL
// is. nullptr restores the default, standard error. Blocks while a line is being written;
// afterwards the earlier sink never runs again. Thread-safe.
inline void SetLogSink(LogSink sink) {
  static std::mutex mutex;
  static LogSink* current = nullptr;  // is not freed at exit, when other threads may still log
  const muster_log_sink call = [](void* context, muster_log_level level,
                                  const char* line) noexcept {
    (*static_cast<LogSink*>(context))(static_cast<LogLevel>(level), line);
  };
  const std::lock_guard<std::mutex> lock(mutex);
  LogSink* const next = sink == nullptr ? nullptr : new LogSink(std::move(sink));
  muster_set_log_sink(next == nullptr ? nullptr : call, next);
  delete std::exchange(current, next);
}

}  // namespace muster::portable

#endif  // MUSTER_PORTABLE_H_
