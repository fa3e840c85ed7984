#include "client/src/control_plane/local_store.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/cancel_watch.h"
#include "client/src/base/deadline.h"
#include "client/src/protocol/store/messages/store_calls.h"

namespace muster::internal {

absl::StatusOr<v1::StoreAnswer> LocalStore::Call(v1::StoreOperation operation,
                                                 const CallOptions& options) {
  const Deadline deadline(*options.timeout, options.cancellation);
  const std::string what = absl::StrCat("job '", job_id_, "': ", DescribeStoreCall(operation));
  const CancelWatch watch(options.cancellation, [this] {
    const Lock lock(mutex_);
    changed_.notify_all();
  });
  Lock lock(mutex_);
  LocalEntries::Call call;
  call.operation = std::move(operation);
  call.number = next_number_++;
  while (true) {
    if (!closed_.ok()) {
      return absl::Status(closed_.code(), absl::StrCat(what, ": ", closed_.message()));
    }
    if (auto answer = Advance(&call)) return *std::move(answer);
    const absl::Status ended = deadline.Check();
    if (!ended.ok()) {
      const std::string missing = entries_.DescribeMissing(call);
      entries_.Forget(call);
      changed_.notify_all();  // the next pop may have its turn
      if (absl::IsCancelled(ended))
        return absl::CancelledError(absl::StrCat(what, " was cancelled"));
      return absl::DeadlineExceededError(absl::StrCat(
          what, " timed out after ", absl::FormatDuration(deadline.timeout()), "; ", missing));
    }
    changed_.wait_until(lock, deadline.when());
  }
}

std::optional<absl::StatusOr<v1::StoreAnswer>> LocalStore::Advance(LocalEntries::Call* call) {
  auto answer = entries_.Run(call);
  if (const std::optional<std::string>& key = entries_.changed()) {
    changed_.notify_all();
    NotifyWatches(*key);
  }
  return answer;
}

void LocalStore::NotifyWatches(const std::string& key) {
  for (const auto& [watch, prefix] : watches_) {
    if (key.compare(0, prefix.size(), prefix) == 0) {
      notifier_->Notify(watch, entries_.EventOf(key));
    }
  }
}

absl::StatusOr<Subscription> LocalStore::Watch(const std::string& prefix, WatchCallback callback) {
  const Lock lock(mutex_);
  if (notifier_ == nullptr) {
    absl::StatusOr<std::unique_ptr<WatchNotifier>> notifier = WatchNotifier::Start();
    if (!notifier.ok()) return notifier.status();
    notifier_ = *std::move(notifier);
  }
  const uint64_t watch = next_number_++;
  notifier_->Add(watch, std::move(callback));
  if (!closed_.ok()) {
    notifier_->Notify(watch, closed_);
  } else {
    watches_.emplace(watch, prefix);
    for (const std::string& key : entries_.List(prefix)) {
      notifier_->Notify(watch, entries_.EventOf(key));
    }
  }
  return Subscription([store = weak_from_this(), watch, process = getpid()] {
    // In a fork, a thread of the parent may hold the lock for ever.
    if (getpid() != process) return;
    if (const auto owned = store.lock()) owned->EndWatch(watch);
  });
}

void LocalStore::EndWatch(uint64_t watch) {
  notifier_->Remove(watch);
  const Lock lock(mutex_);
  watches_.erase(watch);
}

void LocalStore::Close(const absl::Status& why) {
  const Lock lock(mutex_);
  if (closed_.ok()) closed_ = why;
  changed_.notify_all();
  for (const auto& entry : watches_) notifier_->Notify(entry.first, why);
  watches_.clear();
}

}  // namespace muster::internal
