#ifndef MUSTER_CLIENT_SRC_PROTOCOL_STORE_MESSAGES_STORE_EFFECTS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_STORE_MESSAGES_STORE_EFFECTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "client/src/protocol/store/messages/store_calls.h"
#include "muster/v1/store.pb.h"

// The effects of one step of a StoreClientCore: what its driver must do next.
namespace muster::internal {

// A stream to open, which must end with exactly one StoreClientCore::OnStreamEnd().
struct OpenStoreStream {
  uint64_t attempt = 0;
};

// A message for the stream, after all earlier ones. No effect if the stream has ended.
struct SendToStore {
  uint64_t attempt = 0;
  v1::StoreRequest message;
};

// The client's end of a stream, after all earlier messages: the client leaves the store, and the
// daemon then ends the stream.
struct LeaveStoreStream {
  uint64_t attempt = 0;
};

// A stream to end at once. No effect if it has ended.
struct CancelStoreStream {
  uint64_t attempt = 0;
};

// A line for the log, as a warning.
struct WarnOfStore {
  std::string line;
};

using StoreOutput =
    std::variant<OpenStoreStream, SendToStore, LeaveStoreStream, CancelStoreStream, WarnOfStore>;

// The end of an operation or a watch of the program.
struct StoreCompletion {
  StoreCallId id = 0;
  absl::StatusOr<v1::StoreAnswer> answer;  // an error of a watch
};

struct StoreEffects {
  std::vector<StoreOutput> outputs;  // to be carried out in this order
  std::vector<StoreCompletion> completions;
  std::vector<v1::StoreWatchEvent> events;  // of watches, in this order
  // Incarnations of clients that are lost or have left, each once. They precede the events, which
  // may follow from them.
  std::vector<std::string> lost;
};

// The effects of the current step, as they are collected.
class StoreOutbox {
 public:
  void Add(StoreOutput output) { effects_.outputs.push_back(std::move(output)); }
  void Complete(StoreCallId id, absl::StatusOr<v1::StoreAnswer> answer) {
    effects_.completions.push_back({id, std::move(answer)});
  }
  void NoteLost(std::string client) { effects_.lost.push_back(std::move(client)); }
  void Notify(v1::StoreWatchEvent event) { effects_.events.push_back(std::move(event)); }

  // Ends the step and returns its effects.
  StoreEffects Take() { return std::exchange(effects_, {}); }

 private:
  StoreEffects effects_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_STORE_MESSAGES_STORE_EFFECTS_H_
