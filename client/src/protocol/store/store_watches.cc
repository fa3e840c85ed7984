#include "client/src/protocol/store/store_watches.h"

#include <algorithm>
#include <utility>

namespace muster::internal {

void StoreWatches::End(StoreCallId id, const absl::Status& why) {
  const auto watch = watches_.find(id);
  if (watch == watches_.end()) return;
  if (stream_.is_open() && watch->second.sent_on == stream_.attempt()) {
    v1::StoreRequest request;
    request.mutable_cancel()->set_operation(id);
    stream_.Send(std::move(request));
  }
  watches_.erase(watch);
  outbox_.Complete(id, why);
}

void StoreWatches::EndAll(const absl::Status& why) {
  while (!watches_.empty()) End(watches_.begin()->first, why);
}

void StoreWatches::AdvanceBelow(StoreCallId end) {
  if (!stream_.is_open()) return;
  for (auto& [id, watch] : watches_) {
    if (id >= end) return;
    if (watch.sent_on != stream_.attempt()) Send(id, &watch);
  }
}

void StoreWatches::Send(StoreCallId id, WatchState* watch) {
  watch->sent_on = stream_.attempt();
  watch->listed.clear();
  v1::StoreRequest request;
  request.mutable_operation()->set_id(id);
  request.mutable_operation()->mutable_watch()->set_prefix(watch->prefix);
  request.mutable_operation()->mutable_watch()->set_after_revision(watch->revision);
  stream_.Send(std::move(request));
}

void StoreWatches::TakeAnswer(const v1::StoreAnswer& answer) {
  const auto watch = watches_.find(answer.operation());
  if (watch == watches_.end()) return;
  watch->second.sent_on = 0;  // the daemon has ended it
  absl::Status why = AnswerStatus(answer);
  // Only an error ends a watch. The completion must have one.
  if (why.ok()) why = absl::InternalError("the coordinator answers a watch without an error");
  End(answer.operation(), why);
}

void StoreWatches::Take(v1::StoreWatchEvent event) {
  const auto found = watches_.find(event.watch());
  if (found == watches_.end()) return;
  WatchState& watch = found->second;
  watch.revision = std::max(watch.revision, event.revision());
  const auto known = watch.known.find(event.key());
  const bool is_known = known != watch.known.end();
  if (is_known && known->second >= event.revision()) return;
  if (!event.deleted()) {
    watch.known[event.key()] = event.revision();
  } else if (is_known) {
    watch.known.erase(known);
  } else {
    return;  // the program has not heard of the key
  }
  outbox_.Notify(std::move(event));
}

void StoreWatches::Take(const v1::StoreWatchSynced& synced) {
  const auto found = watches_.find(synced.watch());
  if (found == watches_.end()) return;
  WatchState& watch = found->second;
  watch.listed.insert(synced.keys().begin(), synced.keys().end());
  if (synced.more()) return;
  ReportDeleted(synced.watch(), synced.revision(), &watch);
  watch.listed.clear();
  watch.revision = std::max(watch.revision, synced.revision());
}

void StoreWatches::ReportDeleted(StoreCallId id, uint64_t revision, WatchState* watch) {
  for (auto next = watch->known.begin(); next != watch->known.end();) {
    const auto known = next++;
    // A key that changed after the daemon listed the keys exists.
    if (known->second > revision || watch->listed.count(known->first) > 0) continue;
    v1::StoreWatchEvent event;
    event.set_watch(id);
    event.set_key(known->first);
    event.set_revision(revision);
    event.set_deleted(true);
    outbox_.Notify(std::move(event));
    watch->known.erase(known);
  }
}

}  // namespace muster::internal
