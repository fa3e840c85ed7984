#ifndef MUSTER_GROUP_H_
#define MUSTER_GROUP_H_

#include "muster/cxx17.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "muster/call_options.h"
#include "muster/codec.h"
#include "muster/data_type.h"
#include "muster/reduce_op.h"

// Collectives of small objects among some ranks of a job, or all of them:
//
//   absl::StatusOr<muster::Group> evens = job.NewGroup("evens", {0, 2});
//   if (!evens.ok()) return evens.status();
//   absl::StatusOr<int64_t> samples = evens->AllReduce(int64_t{128});  // the sum, on every rank
//   if (!samples.ok()) return samples.status();  // names the missing rank, its node and why
//   absl::StatusOr<std::string> config = evens->Broadcast(std::string("lr=0.1"), 0);
namespace muster {

// A process of the job, as every process sees it.
struct Member {
  int rank = 0;        // in the world
  int local_rank = 0;  // index among the processes of its node
  int node_rank = 0;   // index of its node
  // The name of the node, whose processes share a file system and GPUs: MUSTER_NODE_ID, or else
  // host name and boot id.
  std::string node_id;
  // The host's name and the process id there. For messages only.
  std::string hostname;
  int64_t pid = 0;
  // The rank in the previous epoch, if the process was a member of it. Such a survivor holds the
  // job's state. Unset for newcomers, and for all members of the first epoch. See Job::Rejoin().
  std::optional<int> previous_rank = std::nullopt;
  // JobOptions::topology of that process: "zone/rack/switch".
  std::string topology = "";
  // 16 bytes that identify this start of the process. They differ even where node names and pids
  // repeat, as in containers. A process keeps them from epoch to epoch.
  std::string incarnation = "";
};

class Group;

namespace internal {
class ControlPlane;
struct GroupAccess;
struct GroupState;

// Reduces elements of this type. Every rank passes the same number of elements, and gets as many.
absl::StatusOr<std::string> AllReduceElements(const Group& group, absl::string_view elements,
                                              DataType type, ReduceOp op,
                                              const CallOptions& options, CallSite site);

// Views a number as an array of one element, and a vector as an array. Value is what AllReduce()
// returns.
template <class T>
struct Elements {
  static_assert(
      std::is_arithmetic_v<T>,
      "AllReduce() takes a number, a std::vector of numbers, or an absl::Span of numbers, "
      "which it reduces in place; a Communicator reduces tensors");
  using Value = std::conditional_t<std::is_arithmetic_v<T>, T, double>;
  using Type = Value;
  static absl::string_view Of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof(T)};
  }
  static Value From(absl::string_view bytes) {
    Value value;
    std::memcpy(&value, bytes.data(), sizeof(Value));
    return value;
  }
};
template <class T>
struct Elements<std::vector<T>> {
  static_assert(
      std::is_arithmetic_v<T> && !std::is_same_v<T, bool>,
      "AllReduce() takes vectors of numbers; a std::vector<bool> has no elements in memory");
  using Value = std::vector<T>;
  using Type = T;
  static absl::string_view Of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }
  static std::vector<T> From(absl::string_view bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

// For a span AllReduce() has an overload of its own.
template <class T>
struct Elements<absl::Span<T>> {
  using Value = std::vector<std::remove_const_t<T>>;
};

// Collectives of arrays in the caller's memory. `bytes` and `type_name` are the same on every rank;
// `all_bytes` is the size of `all`.
absl::Status BroadcastInto(const Group& group, void* data, size_t bytes, int root,
                           absl::string_view type_name, const CallOptions& options, CallSite site);
absl::Status GatherInto(const Group& group, const void* mine, size_t bytes, void* all,
                        size_t all_bytes, int root, absl::string_view type_name,
                        const CallOptions& options, CallSite site);
absl::Status AllGatherInto(const Group& group, const void* mine, size_t bytes, void* all,
                           size_t all_bytes, absl::string_view type_name,
                           const CallOptions& options, CallSite site);
absl::Status AllReduceInto(const Group& group, void* data, size_t bytes, DataType type, ReduceOp op,
                           const CallOptions& options, CallSite site);

// "array of 8 int32"
template <class T>
std::string ArrayTypeName(size_t count) {
  static_assert(kIsPlainData<T>, "an array of Muster's holds numbers, enums or plain structs");
  return absl::StrCat("array of ", count, " ", Codec<T>::TypeName());
}

// A parameter whose type is deduced from another parameter.
template <class T>
struct NonDeducedType {
  using Type = T;
};
template <class T>
using NonDeduced = typename NonDeducedType<T>::Type;

}  // namespace internal

// A subscription to a callback. Its destructor ends it: it blocks while the callback runs, and
// afterwards the callback never runs again.
class Subscription {
 public:
  // An empty subscription.
  Subscription() = default;
  // A subscription that `end` ends.
  explicit Subscription(std::function<void()> end) : end_(std::move(end)) {}
  // A moved-from subscription is empty.
  Subscription(Subscription&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      Reset();
      end_ = std::exchange(other.end_, nullptr);
    }
    return *this;
  }
  ~Subscription() { Reset(); }
  // Ends the subscription now.
  void Reset() {
    if (std::function<void()> end = std::exchange(end_, nullptr)) end();
  }

 private:
  std::function<void()> end_;
};

// An ordered list of ranks that call collectives together: the whole job (Job::world()) or a part
// of it (Job::NewGroup(), Job::Split()). Values travel through the coordinator, so they should be
// small. Use a Communicator for tensors.
//
// A Group is a handle, cheap to copy. Copies share the group's sequence of collectives. After its
// Job is destroyed, all calls return CANCELLED.
//
// A collective blocks until all ranks of the group have called it. All ranks must call the same
// collectives in the same order, with the same root, label and type. A group has one call at a
// time: a call from a second thread returns FAILED_PRECONDITION. Other functions are thread-safe.
// Every collective may return:
//   DEADLINE_EXCEEDED    names every missing rank, or the coordinator if it could not be reached.
//                        Retry the same call; until it completes, other calls on this group are
//                        refused. The retry's value is ignored and the first one sent is used,
//                        because other ranks may have received it.
//   CANCELLED            CallOptions::cancellation was cancelled. Retry as above.
//   FAILED_PRECONDITION  the ranks called different collectives; the error names both sides, and
//                        the group is finished. Or a rank that is needed is leaving, or this
//                        process has left, or this process is a fork of the process that joined.
//   ABORTED              a member of the job was lost; names its rank, node, pid and the cause. The
//                        epoch is over.
//   INVALID_ARGUMENT     an argument is malformed. Nothing was sent.
//   RESOURCE_EXHAUSTED   this rank's value is over the coordinator's limit; names the flag. Nothing
//                        was sent. Or the values of all ranks together are over the limit: every
//                        rank gets this error, which names the largest value, and nothing was
//                        recorded. In both cases the group is still usable; if the coordinator was
//                        restarted during the call, only for the same call.
//   UNAVAILABLE          the coordinator could not be reached for JobOptions::coordinator_timeout;
//                        names it and the last error. While health() is OK, retry as above.
class Group {
 public:
  // Returns the caller's index in ranks(), and the number of ranks.
  int rank() const;
  int size() const;

  // Returns the ranks of the group in their order, as ranks of the world.
  const std::vector<int>& ranks() const;

  // Returns the name of the group; empty for the world.
  const std::string& name() const;

  // Blocks until all ranks have called it. The label says what the program is doing ("epoch 3"). It
  // must be the same on all ranks; errors and status pages show it.
  absl::Status Barrier(absl::string_view label = "", const CallOptions& options = {},
                       CallSite site = CallSite::Here()) const;

  // Returns the root's value on every rank. Ignores `value` on the other ranks. `root` is an index
  // into the group. T: see muster/codec.h. A text ("hello", a string_view) is returned as a
  // std::string, here and below.
  template <class T>
  absl::StatusOr<internal::Returned<T>> Broadcast(const T& value, int root = 0,
                                                  const CallOptions& options = {},
                                                  CallSite site = CallSite::Here()) const;

  // Returns every rank's value, in the group's order, at the root; an empty vector on other ranks.
  template <class T>
  absl::StatusOr<std::vector<internal::Returned<T>>> Gather(const T& value, int root = 0,
                                                            const CallOptions& options = {},
                                                            CallSite site = CallSite::Here()) const;

  // Returns every rank's value, in the group's order, on every rank.
  template <class T>
  absl::StatusOr<std::vector<internal::Returned<T>>> AllGather(
      const T& value, const CallOptions& options = {}, CallSite site = CallSite::Here()) const;

  // Returns the values of all ranks, combined by `op` in the group's order: the same bits on every
  // rank. T: a number, or a std::vector of numbers, which is reduced element by element and has the
  // same length on all ranks. For bool, operations other than the bitwise ones return UNIMPLEMENTED
  // and send nothing. Meant for counts, losses and flags; use a Communicator for gradients.
  template <class T>
  absl::StatusOr<typename internal::Elements<T>::Value> AllReduce(
      const T& value, ReduceOp op = ReduceOp::kSum, const CallOptions& options = {},
      CallSite site = CallSite::Here()) const;

  // The same collectives on arrays in the caller's memory, such as absl::MakeSpan(array). Broadcast
  // and AllReduce change `data` in place. Gather and AllGather write the arrays of all ranks into
  // `all`, one after another in the group's order; all.size() == size() * mine.size(), and `mine`
  // and `all` do not overlap. Gather ignores `all` on ranks other than the root. T: a number, or,
  // except for AllReduce, an enum or a plain struct. After an error `data` and `all` are unchanged.
  //   FAILED_PRECONDITION  also if the arrays of two ranks differ in length; names both sides.
  template <class T>
  absl::Status Broadcast(absl::Span<T> data, int root = 0, const CallOptions& options = {},
                         CallSite site = CallSite::Here()) const;
  template <class T>
  absl::Status Gather(internal::NonDeduced<absl::Span<const T>> mine, absl::Span<T> all,
                      int root = 0, const CallOptions& options = {},
                      CallSite site = CallSite::Here()) const;
  template <class T>
  absl::Status AllGather(internal::NonDeduced<absl::Span<const T>> mine, absl::Span<T> all,
                         const CallOptions& options = {}, CallSite site = CallSite::Here()) const;
  template <class T>
  absl::Status AllReduce(absl::Span<T> data, ReduceOp op = ReduceOp::kSum,
                         const CallOptions& options = {}, CallSite site = CallSite::Here()) const;

  // The same collectives on raw bytes. `type_name` must be the same on all ranks.
  absl::StatusOr<std::string> BroadcastBytes(absl::string_view bytes, int root,
                                             absl::string_view type_name = "bytes",
                                             const CallOptions& options = {},
                                             CallSite site = CallSite::Here()) const;
  absl::StatusOr<std::vector<std::string>> GatherBytes(absl::string_view bytes, int root,
                                                       absl::string_view type_name = "bytes",
                                                       const CallOptions& options = {},
                                                       CallSite site = CallSite::Here()) const;
  absl::StatusOr<std::vector<std::string>> AllGatherBytes(absl::string_view bytes,
                                                          absl::string_view type_name = "bytes",
                                                          const CallOptions& options = {},
                                                          CallSite site = CallSite::Here()) const;

  // Returns whether this thread has a PreventBlock scope open (muster/scopes.h). If so, every
  // collective returns the caller's own value at once, in a list of one if it returns a list.
  bool prevents_block() const;

  // For data planes, which belong to a group. Returns the member at an index of this group, the
  // job's health, and so on: see the functions of the same names in Job.
  const Member& member(int index) const;
  absl::Status health() const;
  absl::Status AwaitFailure(absl::Duration timeout) const;
  // For data planes, when a connection to a peer breaks: finds out whether the peer was lost.
  // Blocks until health() is an error, and returns that error. Returns OK once the loss of a peer
  // that is gone by now would be known. That takes the daemon's --member-grace (after a restart of
  // the daemon its --recovery-grace) and a few seconds. While the daemon is down this waits for it.
  // Ends earlier at the time-out (unset: the job's) or when cancelled.
  absl::Status AwaitLoss(const CallOptions& options = {}) const;
  [[nodiscard]] Subscription OnFailure(std::function<void(const absl::Status&)> callback) const;
  absl::Duration default_timeout() const;
  // Returns the local address ("192.0.2.7", "fd00::7") from which this process reaches the
  // coordinator; empty in serial mode.
  std::string local_address() const;

  // Not for programs.
  explicit Group(std::shared_ptr<internal::GroupState> state) : state_(std::move(state)) {}

 private:
  friend struct internal::GroupAccess;

  std::shared_ptr<internal::GroupState> state_;
};

namespace internal {

template <class T>
absl::StatusOr<std::vector<T>> DecodeAll(const absl::StatusOr<std::vector<std::string>>& payloads) {
  if (!payloads.ok()) return payloads.status();
  std::vector<T> values;
  values.reserve(payloads->size());
  for (const std::string& payload : *payloads) {
    absl::StatusOr<T> value = Decode<T>(payload);
    if (!value.ok()) return value.status();
    values.push_back(*std::move(value));
  }
  return values;
}

}  // namespace internal

template <class T>
absl::StatusOr<internal::Returned<T>> Group::Broadcast(const T& value, int root,
                                                       const CallOptions& options,
                                                       CallSite site) const {
  using Value = internal::Returned<T>;
  const bool needed = rank() == root || prevents_block();
  const std::string bytes = needed ? Encode<Value>(internal::AsReturned(value)) : std::string();
  absl::StatusOr<std::string> payload =
      BroadcastBytes(bytes, root, Codec<Value>::TypeName(), options, site);
  if (!payload.ok()) return payload.status();
  return Decode<Value>(*payload);
}

template <class T>
absl::StatusOr<std::vector<internal::Returned<T>>> Group::Gather(const T& value, int root,
                                                                 const CallOptions& options,
                                                                 CallSite site) const {
  using Value = internal::Returned<T>;
  return internal::DecodeAll<Value>(GatherBytes(Encode<Value>(internal::AsReturned(value)), root,
                                                Codec<Value>::TypeName(), options, site));
}

template <class T>
absl::StatusOr<std::vector<internal::Returned<T>>> Group::AllGather(const T& value,
                                                                    const CallOptions& options,
                                                                    CallSite site) const {
  using Value = internal::Returned<T>;
  return internal::DecodeAll<Value>(AllGatherBytes(Encode<Value>(internal::AsReturned(value)),
                                                   Codec<Value>::TypeName(), options, site));
}

template <class T>
absl::StatusOr<typename internal::Elements<T>::Value> Group::AllReduce(const T& value, ReduceOp op,
                                                                       const CallOptions& options,
                                                                       CallSite site) const {
  using Elements = internal::Elements<T>;
  constexpr DataType kType = DataTypeOf<typename Elements::Type>();
  const absl::StatusOr<std::string> reduced =
      internal::AllReduceElements(*this, Elements::Of(value), kType, op, options, site);
  if (!reduced.ok()) return reduced.status();
  return Elements::From(*reduced);
}

template <class T>
absl::Status Group::Broadcast(absl::Span<T> data, int root, const CallOptions& options,
                              CallSite site) const {
  static_assert(!std::is_const_v<T>,
                "Broadcast() changes an absl::Span<T> in place: T is not const");
  const std::string type = internal::ArrayTypeName<T>(data.size());
  return internal::BroadcastInto(*this, data.data(), data.size() * sizeof(T), root, type, options,
                                 site);
}

template <class T>
absl::Status Group::Gather(internal::NonDeduced<absl::Span<const T>> mine, absl::Span<T> all,
                           int root, const CallOptions& options, CallSite site) const {
  static_assert(!std::is_const_v<T>, "Gather() fills an absl::Span<T>: T is not const");
  const std::string type = internal::ArrayTypeName<T>(mine.size());
  return internal::GatherInto(*this, mine.data(), mine.size() * sizeof(T), all.data(),
                              all.size() * sizeof(T), root, type, options, site);
}

template <class T>
absl::Status Group::AllGather(internal::NonDeduced<absl::Span<const T>> mine, absl::Span<T> all,
                              const CallOptions& options, CallSite site) const {
  static_assert(!std::is_const_v<T>, "AllGather() fills an absl::Span<T>: T is not const");
  const std::string type = internal::ArrayTypeName<T>(mine.size());
  return internal::AllGatherInto(*this, mine.data(), mine.size() * sizeof(T), all.data(),
                                 all.size() * sizeof(T), type, options, site);
}

template <class T>
absl::Status Group::AllReduce(absl::Span<T> data, ReduceOp op, const CallOptions& options,
                              CallSite site) const {
  static_assert(std::is_arithmetic_v<T> && !std::is_const_v<T>,
                "AllReduce() changes an absl::Span of numbers in place");
  return internal::AllReduceInto(*this, data.data(), data.size() * sizeof(T), DataTypeOf<T>(), op,
                                 options, site);
}

}  // namespace muster

#endif  // MUSTER_GROUP_H_
