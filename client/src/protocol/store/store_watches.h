#ifndef MUSTER_CLIENT_SRC_PROTOCOL_STORE_STORE_WATCHES_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_STORE_STORE_WATCHES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "client/src/protocol/store/messages/store_effects.h"
#include "client/src/protocol/store/store_stream.h"
#include "muster/v1/store.pb.h"

namespace muster::internal {

// The watches of the program. A watch first reports the existing keys, and then each change once.
// It resumes on every stream after the last revision that it has seen. Pure: no I/O, no threads, no
// clock.
class StoreWatches {
 public:
  StoreWatches(StoreStream* stream, StoreOutbox* outbox) : stream_(*stream), outbox_(*outbox) {}
  StoreWatches(const StoreWatches&) = delete;
  StoreWatches& operator=(const StoreWatches&) = delete;

  // Begins a watch, which ends with one StoreCompletion.
  void Add(StoreCallId id, std::string prefix) { watches_[id].prefix = std::move(prefix); }
  // Ends a watch with this error. Ignores unknown ids.
  void End(StoreCallId id, const absl::Status& why);
  void EndAll(const absl::Status& why);
  bool empty() const { return watches_.empty(); }
  // Begins or resumes the watches below this id that the open stream does not have yet. On a
  // stream, the ids of watches and operations ascend.
  void AdvanceBelow(StoreCallId end);

  // Apply what the daemon says on the open stream. Messages of an ended watch change nothing.
  void Take(v1::StoreWatchEvent event);
  void Take(const v1::StoreWatchSynced& synced);
  // An answer is an error, which ends the watch.
  void TakeAnswer(const v1::StoreAnswer& answer);

 private:
  struct WatchState {
    std::string prefix;
    uint64_t sent_on = 0;                   // the latest stream that it was sent on
    uint64_t revision = 0;                  // the last one that it has seen
    std::map<std::string, uint64_t> known;  // the existing keys, and their revisions
    std::set<std::string> listed;  // the existing keys, as far as the daemon has listed them
  };

  void Send(StoreCallId id, WatchState* watch);
  // Reports keys as deleted that the daemon did not list.
  void ReportDeleted(StoreCallId id, uint64_t revision, WatchState* watch);

  StoreStream& stream_;
  StoreOutbox& outbox_;
  std::map<StoreCallId, WatchState> watches_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_STORE_STORE_WATCHES_H_
