#ifndef MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_STORE_CLIENT_H_
#define MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_STORE_CLIENT_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/core/api/store_messages.h"

namespace muster::core::store {

// A client of the store as docs/store.md describes it, without a network: what it would send lies
// in `outbox`, and what it is sent in `inbox`.
class ModelClient {
 public:
  explicit ModelClient(std::string id) : id(std::move(id)) {}

  struct Held {
    StoreVersion version;
    StoreEntry entry;
  };
  struct Watch {
    std::string prefix;
    std::optional<uint64_t> after;
    std::map<std::string, uint64_t> keys;  // what the events say that exists
  };
  // An answer that the client has processed.
  struct Answered {
    StoreOperation operation;
    StoreAnswer answer;
  };

  // Opens a stream: puts the open, the claim, and the operations without an answer into the outbox.
  void Open(WaiterId with_stream, size_t claim_chunk);
  // Drops the stream, with all that is in it.
  void Forget();
  // Starts an operation, and returns its id.
  uint64_t Start(StoreOperation operation);
  void Cancel(uint64_t operation);
  // Processes the next message. Returns the answer, if it is the answer to an operation.
  std::optional<Answered> Process();
  void Confirm();
  bool owes_confirmation() const { return stream != 0 && processed > confirmed; }
  // Returns the revision that it holds; 0: none.
  uint64_t Holds(const std::string& key) const;
  // Returns the revision that it goes on holding; 0: a drop is on its way.
  uint64_t Keeps(const std::string& key) const;

  const std::string id;
  bool alive = true;
  bool ended = false;   // it was told that it is lost
  bool silent = false;  // it lives and counts as lost
  WaiterId stream = 0;
  bool broken = false;  // the daemon has closed the stream, and the client has not noticed
  std::deque<StoreRequest> outbox;
  std::deque<StoreResponse> inbox;
  std::optional<absl::Status> end;  // comes after the inbox
  std::map<std::string, Held> held;
  std::map<uint64_t, StoreOperation> unanswered;
  std::map<uint64_t, Watch> watches;
  uint64_t next_operation = 1;

 private:
  void Take(const StoreOpened&) {}
  void Take(const StoreClients& news);
  void Take(const StoreAnswer& answer);
  void Take(const StoreHold& hold);
  void Take(const StoreDrop& drop);
  void Take(const StoreFetch& fetch);
  void Take(const StoreWatchEvent& event);
  void Take(const StoreWatchSynced& synced);
  void NoteRevision(uint64_t revision);

  std::set<Incarnation> joined_;
  std::set<Incarnation> lost_;
  std::set<uint64_t> cancelled_;
  std::set<std::string> listed_;  // by the messages of a watch that catches up
  uint64_t highest_ = 0;
  uint64_t attempt_ = 0;
  uint64_t processed = 0;
  uint64_t confirmed = 0;
  bool was_served_ = false;
  std::optional<Answered> answered_;
};

// Applies a change as a client does.
void Apply(const StoreChange& change, StoreEntry* entry);

}  // namespace muster::core::store

#endif  // MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_STORE_CLIENT_H_
