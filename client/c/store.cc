#include "muster/store.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/c/boundary.h"
#include "client/c/handles.h"
#include "muster/c.h"

namespace muster::internal::c {
namespace {

// Checks the arguments that all calls have, and returns the options.
absl::StatusOr<CallOptions> Begin(absl::string_view call, const muster_job* job,
                                  absl::string_view bytes_name, const void* bytes, size_t size,
                                  const muster_call_options* options) {
  absl::Status checked = CheckNotNull(call, {{"job", job}});
  checked.Update(CheckBytes(call, bytes_name, bytes, size));
  if (!checked.ok()) return checked;
  absl::StatusOr<Options> read = ReadOptions(options);
  if (!read.ok()) return read.status();
  return read->call;
}

template <class Number, class T>
absl::Status StoreNumber(const absl::StatusOr<T>& number, Number* out) {
  if (!number.ok()) return number.status();
  if (out != nullptr) *out = static_cast<Number>(*number);
  return absl::OkStatus();
}

absl::Status StoreValue(absl::StatusOr<std::string> value, muster_values** out) {
  if (!value.ok()) return value.status();
  *out = new muster_values{{*std::move(value)}};
  return absl::OkStatus();
}

absl::Status GiveComparison(absl::StatusOr<muster::StoreComparison> comparison, int* changed,
                            muster_values** value) {
  if (!comparison.ok()) return comparison.status();
  *changed = comparison->changed ? 1 : 0;
  if (value == nullptr) return absl::OkStatus();
  *value = new muster_values;
  if (comparison->value) (*value)->values.push_back(*std::move(comparison->value));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ReadKeys(const void* const* keys, const size_t* sizes,
                                                  size_t count) {
  std::vector<std::string> read;
  for (size_t i = 0; i < count; ++i) {
    absl::Status checked = CheckBytes("muster_store_wait", "keys", keys[i], sizes[i]);
    if (!checked.ok()) return checked;
    read.emplace_back(Bytes(keys[i], sizes[i]));
  }
  return read;
}

static_assert(MUSTER_STORE_VALUE == static_cast<int>(StoreEvent::Kind::kValue));
static_assert(MUSTER_STORE_QUEUE == static_cast<int>(StoreEvent::Kind::kQueue));
static_assert(MUSTER_STORE_BARRIER == static_cast<int>(StoreEvent::Kind::kBarrier));
static_assert(MUSTER_STORE_DELETED == static_cast<int>(StoreEvent::Kind::kDeleted));

void Tell(muster_store_callback callback, void* context, const absl::StatusOr<StoreEvent>& event) {
  if (!event.ok()) {
    const muster_status error(event.status());
    callback(context, nullptr, &error);
    return;
  }
  const muster_store_event shown = {sizeof(shown),
                                    event->key.data(),
                                    event->key.size(),
                                    event->value.data(),
                                    event->value.size(),
                                    event->count,
                                    static_cast<muster_store_kind>(event->kind)};
  callback(context, &shown, nullptr);
}

}  // namespace
}  // namespace muster::internal::c

using namespace muster::internal::c;

extern "C" {

muster_status* muster_store_set(muster_job* job, const void* key, size_t key_size,
                                const void* value, size_t size,
                                const muster_call_options* options) {
  return RunForC([&]() -> absl::Status {
    const auto once = Begin("muster_store_set", job, "key", key, key_size, options);
    if (!once.ok()) return once.status();
    absl::Status checked = CheckBytes("muster_store_set", "value", value, size);
    if (!checked.ok()) return checked;
    return job->job->store().Set(Bytes(key, key_size), Bytes(value, size), *once);
  });
}

muster_status* muster_store_get(muster_job* job, const void* key, size_t key_size,
                                const muster_call_options* options, muster_values** value) {
  return RunForC([&]() -> absl::Status {
    const auto once = Begin("muster_store_get", job, "key", key, key_size, options);
    if (!once.ok()) return once.status();
    absl::Status checked = CheckNotNull("muster_store_get", {{"value", value}});
    if (!checked.ok()) return checked;
    return StoreValue(job->job->store().Get(Bytes(key, key_size), *once), value);
  });
}

muster_status* muster_store_wait(muster_job* job, const void* const* keys, const size_t* key_sizes,
                                 size_t count, const muster_call_options* options) {
  return RunForC([&]() -> absl::Status {
    const auto once = Begin("muster_store_wait", job, "keys", keys, count, options);
    if (!once.ok()) return once.status();
    absl::Status checked = CheckBytes("muster_store_wait", "key_sizes", key_sizes, count);
    if (!checked.ok()) return checked;
    const auto read = ReadKeys(keys, key_sizes, count);
    if (!read.ok()) return read.status();
    return job->job->store().Wait(*read, *once);
  });
}

muster_status* muster_store_add(muster_job* job, const void* key, size_t key_size, int64_t amount,
                                const muster_call_options* options, int64_t* sum) {
  return RunForC([&]() -> absl::Status {
    const auto once = Begin("muster_store_add", job, "key", key, key_size, options);
    if (!once.ok()) return once.status();
    return StoreNumber(job->job->store().Add(Bytes(key, key_size), amount, *once), sum);
  });
}

muster_status* muster_store_compare_and_set(muster_job* job, const void* key, size_t key_size,
                                            const void* expected, size_t expected_size,
                                            const void* desired, size_t desired_size,
                                            const muster_call_options* options, int* changed,
                                            muster_values** value) {
  return RunForC([&]() -> absl::Status {
    constexpr char kCall[] = "muster_store_compare_and_set";
    const auto once = Begin(kCall, job, "key", key, key_size, options);
    if (!once.ok()) return once.status();
    absl::Status checked = CheckNotNull(kCall, {{"changed", changed}});
    checked.Update(CheckBytes(kCall, "desired", desired, desired_size));
    if (!checked.ok()) return checked;
    std::optional<absl::string_view> has;
    if (expected != nullptr) has = Bytes(expected, expected_size);
    return GiveComparison(job->job->store().CompareAndSet(Bytes(key, key_size), has,
                                                          Bytes(desired, desired_size), *once),
                          changed, value);
  });
}

muster_status* muster_store_append(muster_job* job, const void* key, size_t key_size,
                                   const void* value, size_t size,
                                   const muster_call_options* options, int64_t* length) {
  return RunForC([&]() -> absl::Status {
    const auto once = Begin("muster_store_append", job, "key", key, key_size, options);
    if (!once.ok()) return once.status();
    absl::Status checked = CheckBytes("muster_store_append", "value", value, size);
    if (!checked.ok()) return checked;
    return StoreNumber(job->job->store().Append(Bytes(key, key_size), Bytes(value, size), *once),
                       length);
  });
}

muster_status* muster_store_delete(muster_job* job, const void* key, size_t key_size,
                                   const muster_call_options* options, int* existed) {
  return RunForC([&]() -> absl::Status {
    const auto once = Begin("muster_store_delete", job, "key", key, key_size, options);
    if (!once.ok()) return once.status();
    return StoreNumber(job->job->store().Delete(Bytes(key, key_size), *once), existed);
  });
}

muster_status* muster_store_list(muster_job* job, const void* prefix, size_t prefix_size,
                                 const muster_call_options* options, muster_values** keys) {
  return RunForC([&]() -> absl::Status {
    const auto once = Begin("muster_store_list", job, "prefix", prefix, prefix_size, options);
    if (!once.ok()) return once.status();
    absl::Status checked = CheckNotNull("muster_store_list", {{"keys", keys}});
    if (!checked.ok()) return checked;
    return StoreHandle(job->job->store().List(Bytes(prefix, prefix_size), *once), keys);
  });
}

muster_status* muster_store_count(muster_job* job, const void* prefix, size_t prefix_size,
                                  const muster_call_options* options, int64_t* count) {
  return RunForC([&]() -> absl::Status {
    const auto once = Begin("muster_store_count", job, "prefix", prefix, prefix_size, options);
    if (!once.ok()) return once.status();
    return StoreNumber(job->job->store().Count(Bytes(prefix, prefix_size), *once), count);
  });
}

muster_status* muster_store_push(muster_job* job, const void* key, size_t key_size,
                                 const void* element, size_t size,
                                 const muster_call_options* options, int64_t* length) {
  return RunForC([&]() -> absl::Status {
    const auto once = Begin("muster_store_push", job, "key", key, key_size, options);
    if (!once.ok()) return once.status();
    absl::Status checked = CheckBytes("muster_store_push", "element", element, size);
    if (!checked.ok()) return checked;
    return StoreNumber(job->job->store().Push(Bytes(key, key_size), Bytes(element, size), *once),
                       length);
  });
}

muster_status* muster_store_pop(muster_job* job, const void* key, size_t key_size,
                                const muster_call_options* options, muster_values** element) {
  return RunForC([&]() -> absl::Status {
    const auto once = Begin("muster_store_pop", job, "key", key, key_size, options);
    if (!once.ok()) return once.status();
    absl::Status checked = CheckNotNull("muster_store_pop", {{"element", element}});
    if (!checked.ok()) return checked;
    return StoreValue(job->job->store().Pop(Bytes(key, key_size), *once), element);
  });
}

muster_status* muster_store_length(muster_job* job, const void* key, size_t key_size,
                                   const muster_call_options* options, int64_t* length) {
  return RunForC([&]() -> absl::Status {
    const auto once = Begin("muster_store_length", job, "key", key, key_size, options);
    if (!once.ok()) return once.status();
    return StoreNumber(job->job->store().Length(Bytes(key, key_size), *once), length);
  });
}

muster_status* muster_store_barrier(muster_job* job, const void* key, size_t key_size,
                                    int64_t count, const muster_call_options* options,
                                    int64_t* place) {
  return RunForC([&]() -> absl::Status {
    const auto once = Begin("muster_store_barrier", job, "key", key, key_size, options);
    if (!once.ok()) return once.status();
    return StoreNumber(job->job->store().Barrier(Bytes(key, key_size), count, *once), place);
  });
}

muster_status* muster_store_watch(muster_job* job, const void* prefix, size_t prefix_size,
                                  muster_store_callback callback, void* context,
                                  muster_subscription** subscription) {
  return RunForC([&]() -> absl::Status {
    constexpr char kCall[] = "muster_store_watch";
    absl::Status checked =
        CheckNotNull(kCall, {{"job", job},
                             {"callback", reinterpret_cast<const void*>(callback)},
                             {"subscription", subscription}});
    checked.Update(CheckBytes(kCall, "prefix", prefix, prefix_size));
    if (!checked.ok()) return checked;
    auto watch = job->job->store().Watch(
        Bytes(prefix, prefix_size),
        [callback, context](const absl::StatusOr<muster::StoreEvent>& event) {
          Tell(callback, context, event);
        });
    if (!watch.ok()) return watch.status();
    *subscription = new muster_subscription{*std::move(watch)};
    return absl::OkStatus();
  });
}

}  // extern "C"
