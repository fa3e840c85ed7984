#include "muster/store.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/src/control_plane/control_plane.h"
#include "client/src/control_plane/store_plane.h"
#include "common/rpc/store_limits.h"
#include "muster/v1/store.pb.h"

namespace muster {
namespace {

using Answer = absl::StatusOr<v1::StoreAnswer>;
using Control = std::shared_ptr<internal::ControlPlane>;

Answer Call(const Control& control, v1::StoreOperation operation, const CallOptions& options) {
  const absl::StatusOr<CallOptions> admitted = internal::CheckCall(*control, options);
  if (!admitted.ok()) return admitted.status();
  const auto store = control->store();
  if (!store.ok()) return store.status();
  return (*store)->Call(std::move(operation), *admitted);
}

absl::StatusOr<int64_t> NumberOf(const Answer& answer) {
  if (!answer.ok()) return answer.status();
  return answer->number();
}

absl::StatusOr<std::string> ValueOf(Answer answer) {
  if (!answer.ok()) return answer.status();
  return std::move(*answer->mutable_value());
}

StoreEvent EventOf(const v1::StoreWatchEvent& event) {
  switch (event.state_case()) {
    case v1::StoreWatchEvent::kValue:
      return {event.key(), StoreEvent::Kind::kValue, event.value(), 0};
    case v1::StoreWatchEvent::kElements:
      return {event.key(), StoreEvent::Kind::kQueue, "", event.elements()};
    case v1::StoreWatchEvent::kArrivals:
      return {event.key(), StoreEvent::Kind::kBarrier, "", event.arrivals()};
    default:
      return {event.key(), StoreEvent::Kind::kDeleted, "", 0};
  }
}

// The coordinator would end the stream of a larger request.
absl::Status CheckWait(const std::vector<std::string>& keys) {
  size_t bytes = 0;
  for (const std::string& key : keys) bytes += key.size();
  if (keys.size() <= kMaxStoreWaitKeys && bytes <= kMaxStoreWaitBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Store::Wait() has ", keys.size(), " keys of ", bytes, " bytes; at most ", kMaxStoreWaitKeys,
      " keys of ", kMaxStoreWaitBytes, " bytes are allowed: wait for some of them at a time"));
}

}  // namespace

Store::Store(Control control) : control_(std::move(control)) {}

absl::Status Store::Set(absl::string_view key, absl::string_view value,
                        const CallOptions& options) const {
  v1::StoreOperation operation;
  operation.mutable_set()->set_key(std::string(key));
  operation.mutable_set()->set_value(std::string(value));
  return Call(control_, std::move(operation), options).status();
}

absl::StatusOr<std::string> Store::Get(absl::string_view key, const CallOptions& options) const {
  v1::StoreOperation operation;
  operation.mutable_get()->set_key(std::string(key));
  return ValueOf(Call(control_, std::move(operation), options));
}

absl::Status Store::Wait(const std::vector<std::string>& keys, const CallOptions& options) const {
  if (absl::Status s = CheckWait(keys); !s.ok()) return s;
  v1::StoreOperation operation;
  operation.mutable_wait();
  for (const std::string& key : keys) operation.mutable_wait()->add_keys(key);
  return Call(control_, std::move(operation), options).status();
}

absl::StatusOr<int64_t> Store::Add(absl::string_view key, int64_t amount,
                                   const CallOptions& options) const {
  v1::StoreOperation operation;
  operation.mutable_add()->set_key(std::string(key));
  operation.mutable_add()->set_amount(amount);
  return NumberOf(Call(control_, std::move(operation), options));
}

absl::StatusOr<StoreComparison> Store::CompareAndSet(absl::string_view key,
                                                     std::optional<absl::string_view> expected,
                                                     absl::string_view desired,
                                                     const CallOptions& options) const {
  v1::StoreOperation operation;
  v1::StoreCompareAndSet& change = *operation.mutable_compare_and_set();
  change.set_key(std::string(key));
  if (expected) change.set_expected(std::string(*expected));
  change.set_value(std::string(desired));
  const Answer answer = Call(control_, std::move(operation), options);
  if (!answer.ok()) return answer.status();
  StoreComparison comparison;
  comparison.changed = answer->changed();
  if (comparison.changed) {
    comparison.value = std::string(desired);
  } else if (answer->has_value()) {
    comparison.value = answer->value();
  }
  return comparison;
}

absl::StatusOr<int64_t> Store::Append(absl::string_view key, absl::string_view value,
                                      const CallOptions& options) const {
  v1::StoreOperation operation;
  operation.mutable_append()->set_key(std::string(key));
  operation.mutable_append()->set_value(std::string(value));
  return NumberOf(Call(control_, std::move(operation), options));
}

absl::StatusOr<bool> Store::Delete(absl::string_view key, const CallOptions& options) const {
  v1::StoreOperation operation;
  operation.mutable_delete_()->set_key(std::string(key));
  const Answer answer = Call(control_, std::move(operation), options);
  if (!answer.ok()) return answer.status();
  return answer->changed();
}

absl::StatusOr<std::vector<std::string>> Store::List(absl::string_view prefix,
                                                     const CallOptions& options) const {
  std::vector<std::string> keys;
  bool more = true;
  while (more) {
    v1::StoreOperation operation;
    operation.mutable_list()->set_prefix(std::string(prefix));
    if (!keys.empty()) operation.mutable_list()->set_after(keys.back());
    const Answer answer = Call(control_, std::move(operation), options);
    if (!answer.ok()) return answer.status();
    keys.insert(keys.end(), answer->keys().begin(), answer->keys().end());
    more = answer->more() && !answer->keys().empty();
  }
  return keys;
}

absl::StatusOr<int64_t> Store::Count(absl::string_view prefix, const CallOptions& options) const {
  v1::StoreOperation operation;
  operation.mutable_count()->set_prefix(std::string(prefix));
  return NumberOf(Call(control_, std::move(operation), options));
}

absl::StatusOr<int64_t> Store::Push(absl::string_view key, absl::string_view element,
                                    const CallOptions& options) const {
  v1::StoreOperation operation;
  operation.mutable_push()->set_key(std::string(key));
  operation.mutable_push()->set_value(std::string(element));
  return NumberOf(Call(control_, std::move(operation), options));
}

absl::StatusOr<std::string> Store::Pop(absl::string_view key, const CallOptions& options) const {
  v1::StoreOperation operation;
  operation.mutable_pop()->set_key(std::string(key));
  return ValueOf(Call(control_, std::move(operation), options));
}

absl::StatusOr<int64_t> Store::Length(absl::string_view key, const CallOptions& options) const {
  v1::StoreOperation operation;
  operation.mutable_queue_length()->set_key(std::string(key));
  return NumberOf(Call(control_, std::move(operation), options));
}

absl::StatusOr<int64_t> Store::Barrier(absl::string_view key, int64_t count,
                                       const CallOptions& options) const {
  if (count < 1) {
    return absl::InvalidArgumentError(absl::StrCat("job '", control_->job_id(), "': barrier '",
                                                   absl::CHexEscape(key), "' waits for ", count,
                                                   " arrivals; expected at least 1"));
  }
  v1::StoreOperation operation;
  operation.mutable_barrier()->set_key(std::string(key));
  operation.mutable_barrier()->set_count(static_cast<uint64_t>(count));
  return NumberOf(Call(control_, std::move(operation), options));
}

absl::StatusOr<Subscription> Store::Watch(
    absl::string_view prefix,
    std::function<void(const absl::StatusOr<StoreEvent>& event)> callback) const {
  const absl::StatusOr<CallOptions> admitted = internal::CheckCall(*control_, {});
  if (!admitted.ok()) return admitted.status();
  const auto store = control_->store();
  if (!store.ok()) return store.status();
  return (*store)->Watch(
      std::string(prefix),
      [callback = std::move(callback)](const absl::StatusOr<v1::StoreWatchEvent>& event) {
        if (event.ok()) {
          callback(EventOf(*event));
        } else {
          callback(event.status());
        }
      });
}

}  // namespace muster
