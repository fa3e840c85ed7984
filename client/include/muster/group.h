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

namespace muster {

// One process of the job, as every process sees it.
struct Member {
  int rank = 0;        // in the world
  int local_rank = 0;  // index among the processes of its node
  int node_rank = 0;   // index of its node
  // What shares a file system and GPUs: MUSTER_NODE_ID, else host and boot. The host's name and the
  // pid there are for messages.
  std::string node_id;
  std::string hostname;
  int64_t pid = 0;
  // The rank in the epoch before, of a survivor: it holds the job's state. Absent of a newcomer,
  // and of everyone in the first epoch. See Job::Rejoin().
  std::optional<int> previous_rank = std::nullopt;
  // JobOptions::topology of that process: "zone/rack/switch".
  std::string topology = "";
  // 16 bytes that no other start of a process has: what tells processes apart also where nodes and
  // pids repeat, as in containers, and what a process keeps from epoch to epoch.
  std::string incarnation = "";
};

class Group;

namespace internal {
class ControlPlane;
struct GroupAccess;
struct GroupState;

// Reduces elements of that type, as many on every rank. Returns as many.
absl::StatusOr<std::string> AllReduceElements(const Group& group, absl::string_view elements,
                                              DataType type, ReduceOp op,
                                              const CallOptions& options, CallSite site);

// A number as an array of one, and a vector as it is. Value: what AllReduce() returns.
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

// A span has an AllReduce() of its own.
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

// A parameter whose type another parameter decides.
template <class T>
struct NonDeducedType {
  using Type = T;
};
template <class T>
using NonDeduced = typename NonDeducedType<T>::Type;

}  // namespace internal

// Ends a subscription when destroyed: after that the callback is not running and never will.
class Subscription {
 public:
  // None.
  Subscription() = default;
  // `end` ends it.
  explicit Subscription(std::function<void()> end) : end_(std::move(end)) {}
  // What was moved from is none.
  Subscription(Subscription&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      Reset();
      end_ = std::exchange(other.end_, nullptr);
    }
    return *this;
  }
  ~Subscription() { Reset(); }
  // Ends it now.
  void Reset() {
    if (std::function<void()> end = std::exchange(end_, nullptr)) end();
  }

 private:
  std::function<void()> end_;
};

// An ordered list of ranks that do collectives together: the whole job (Job::world()) or a part of
// it (Job::NewGroup()). Small objects only: they travel through the coordinator. Tensors go through
// a Communicator.
//
// A handle, cheap to copy; a copy shares the group's sequence of collectives. When its Job has been
// destroyed its calls return CANCELLED.
//
// Every collective blocks until all ranks of the group have called it, in the same order, with the
// same kind, root, label and type. One call at a time per group: a second one from another thread
// is refused with FAILED_PRECONDITION. Thread-safe otherwise. All of them return
//   DEADLINE_EXCEEDED    naming every missing rank, or the coordinator where that could not be
//                        reached. Make the same call again: until that has ended otherwise, any
//                        other one on this group is refused. Its value counts no more: what was
//                        sent first is what the others get, since some may have got it;
//   CANCELLED            through CallOptions::cancellation; as above;
//   FAILED_PRECONDITION  the ranks called different things, naming both sides, and the group is
//                        finished; or a rank that is needed is leaving; or this process has left;
//                        or it is a fork of the process that joined;
//   ABORTED              a member of the job was lost: its rank, node, pid and why. Final;
//   INVALID_ARGUMENT     an argument is malformed; nothing was sent;
//   RESOURCE_EXHAUSTED   the payload is over the coordinator's limit, naming its flag; nothing was
//                        sent. Or all payloads together are: then every rank gets this, naming the
//                        largest, and nothing was recorded. The group goes on in both cases: call
//                        again with less, or call something else;
//   UNAVAILABLE          the coordinator could not be reached for JobOptions::coordinator_timeout,
//                        naming it and the last error. health() says whether the epoch is over for
//                        this process too; while it is OK the call may be repeated, as above.
class Group {
 public:
  // The caller's index in ranks(), and their number.
  int rank() const;
  int size() const;

  // The world's ranks in the group's order.
  const std::vector<int>& ranks() const;

  // Empty for the world.
  const std::string& name() const;

  // Waits for all. The label says what the program is doing ("epoch 3"), must agree between the
  // ranks and stands in every error and status page.
  absl::Status Barrier(absl::string_view label = "", const CallOptions& options = {},
                       CallSite site = CallSite::Here()) const;

  // Returns the root's value on every rank; the others' `value` is not looked at. `root` is an
  // index into the group. T: see muster/codec.h; a text ("hello", a string_view) comes back as a
  // std::string, here and below.
  template <class T>
  absl::StatusOr<internal::Returned<T>> Broadcast(const T& value, int root = 0,
                                                  const CallOptions& options = {},
                                                  CallSite site = CallSite::Here()) const;

  // Returns every rank's value, in the group's order, at the root, and an empty vector elsewhere.
  template <class T>
  absl::StatusOr<std::vector<internal::Returned<T>>> Gather(const T& value, int root = 0,
                                                            const CallOptions& options = {},
                                                            CallSite site = CallSite::Here()) const;

  // Returns every rank's value, in the group's order, on every rank.
  template <class T>
  absl::StatusOr<std::vector<internal::Returned<T>>> AllGather(
      const T& value, const CallOptions& options = {}, CallSite site = CallSite::Here()) const;

  // Returns op over all ranks' values, folded in the group's order: the same bits on every rank. T:
  // a number, or a std::vector of numbers, of which all ranks pass equally many and each is reduced
  // by itself. A bool has the bitwise operations only (UNIMPLEMENTED; nothing was sent). For
  // counts, losses and flags, which travel through the coordinator; gradients go through a
  // Communicator.
  template <class T>
  absl::StatusOr<typename internal::Elements<T>::Value> AllReduce(
      const T& value, ReduceOp op = ReduceOp::kSum, const CallOptions& options = {},
      CallSite site = CallSite::Here()) const;

  // The same on arrays in the caller's memory (absl::MakeSpan(array)), equally long on every rank:
  // else FAILED_PRECONDITION names the two sides. Broadcast and AllReduce change `data` in place.
  // Gather and AllGather write every rank's array, one after another in the group's order, into
  // `all`, which has room for them: all.size() == size() * mine.size(); in a Gather only the root's
  // `all` is looked at. `mine` is not in `all`. T: numbers (AllReduce), or enums and plain structs.
  // After an error `data` and `all` are as they were.
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

  // The same on raw bytes. `type_name` must agree between the ranks.
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

  // Whether a PreventBlock scope of the job is open (muster/scopes.h): then every collective
  // returns at once with the caller's own value, in a list of one where it returns a list.
  bool prevents_block() const;

  // For data planes, which live on a group: the member at an index of this group, the job's health
  // and the job's default time-out. See the functions of the same names in Job.
  const Member& member(int index) const;
  absl::Status health() const;
  absl::Status AwaitFailure(absl::Duration timeout) const;
  // What a data plane asks when its connection to a peer breaks: blocks until health() is an error,
  // and returns it, or OK when the loss of a process that is gone by now would be known. That takes
  // what the daemon gives a member to come back (--member-grace), after a restart of the daemon
  // what it gives all (--recovery-grace), and a few seconds; while the coordinator is away nobody
  // knows, and this waits for it. Ends earlier at the time-out (unset: the job's), or cancelled.
  absl::Status AwaitLoss(const CallOptions& options = {}) const;
  [[nodiscard]] Subscription OnFailure(std::function<void(const absl::Status&)> callback) const;
  absl::Duration default_timeout() const;
  // The local address ("192.0.2.7", "fd00::7") from which this process reaches the coordinator;
  // empty in serial mode.
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
