#ifndef MUSTER_SERVER_CORE_API_STORE_MESSAGES_H_
#define MUSTER_SERVER_CORE_API_STORE_MESSAGES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "server/core/api/basic_types.h"

// The messages of a store stream. proto/muster/v1/store.proto says what each field means.
namespace muster::core {

// ---- Entries ----

// Names the content of one key. The revision decides which of two is later.
struct StoreVersion {
  uint64_t revision = 0;
  uint64_t daemon_instance = 0;
  friend bool operator==(const StoreVersion& a, const StoreVersion& b) {
    return a.revision == b.revision && a.daemon_instance == b.daemon_instance;
  }
  friend bool operator<(const StoreVersion& a, const StoreVersion& b) {
    return std::tie(a.revision, a.daemon_instance) < std::tie(b.revision, b.daemon_instance);
  }
};

struct StoreTombstone {};
struct StoreQueue {
  std::deque<Bytes> elements;  // never null
};
struct StoreArrivals {
  uint64_t count = 0;
  uint64_t arrived = 0;
  uint64_t complete_at = 0;
};
// Bytes: a value, never null.
using StoreContent = std::variant<StoreTombstone, Bytes, StoreQueue, StoreArrivals>;

struct StoreOperationId {
  Incarnation client;
  uint64_t operation = 0;
  friend bool operator<(const StoreOperationId& a, const StoreOperationId& b) {
    return std::tie(a.client, a.operation) < std::tie(b.client, b.operation);
  }
};

struct StoreResult {
  // The value of `complete_at` for a barrier that was deleted before its round was complete.
  static constexpr uint64_t kNever = ~uint64_t{0};
  uint64_t revision = 0;
  std::optional<int64_t> number = {};
  Bytes value = nullptr;  // may be null
  uint64_t complete_at = 0;
};

struct StoreEntry {
  StoreContent content;
  std::map<StoreOperationId, StoreResult> results = {};
};

// ---- From a client ----

struct StoreOpen {
  std::string job_id;
  Incarnation incarnation;
  uint32_t protocol_version = 0;
  std::optional<uint32_t> rank;
  std::string node;
  bool launcher = false;
  uint64_t attempt = 0;
  bool was_served = false;
  uint64_t highest_revision = 0;
  uint64_t next_operation = 1;
  std::vector<uint64_t> unanswered;  // ascending
};

struct ClaimedStoreEntry {
  std::string key;
  StoreVersion version;
};

struct StoreClaim {
  std::vector<Incarnation> joined;
  std::vector<Incarnation> lost;
  std::vector<ClaimedStoreEntry> entries;
  bool last = false;
};

struct StoreSet {
  std::string key;
  Bytes value;  // never null, here and below
};
struct StoreGet {
  std::string key;
};
struct StoreWait {
  std::vector<std::string> keys;
};
struct StoreAdd {
  std::string key;
  int64_t amount = 0;
};
struct StoreCompareAndSet {
  std::string key;
  std::optional<std::string> expected;
  Bytes value;
};
struct StoreAppend {
  std::string key;
  Bytes value;
};
struct StoreDelete {
  std::string key;
};
struct StoreList {
  std::string prefix;
  std::string after;
};
struct StoreCount {
  std::string prefix;
};
struct StorePush {
  std::string key;
  Bytes value;
};
struct StorePop {
  std::string key;
};
struct StoreQueueLength {
  std::string key;
};
struct StoreBarrier {
  std::string key;
  uint64_t count = 0;
};
struct StoreWatch {
  std::string prefix;
  std::optional<uint64_t> after_revision;
};

struct StoreOperation {
  uint64_t id = 0;
  std::optional<absl::Duration> wait_timeout;
  std::variant<StoreSet, StoreGet, StoreWait, StoreAdd, StoreCompareAndSet, StoreAppend,
               StoreDelete, StoreList, StoreCount, StorePush, StorePop, StoreQueueLength,
               StoreBarrier, StoreWatch>
      what;
};

struct StoreCancel {
  uint64_t operation = 0;
};
struct StoreConfirm {
  uint64_t processed = 0;
};

struct FetchedStoreEntry {
  std::string key;
  StoreVersion version;  // revision 0: the client does not hold the key
  StoreEntry entry;
};
struct StoreEntries {
  std::vector<FetchedStoreEntry> entries;
};

// A message of a client on its stream.
struct StoreRequest {
  std::variant<StoreOpen, StoreClaim, StoreOperation, StoreCancel, StoreConfirm, StoreEntries>
      message;
};
// The client has ended its side of the stream, and so its part in the job.
struct StoreLeft {};

// ---- From the daemon ----

struct StoreOpened {
  uint64_t daemon_instance = 0;
  bool recovering = false;
};

struct StoreClients {
  std::vector<Incarnation> joined;
  std::vector<Incarnation> lost;
};

struct StoreAnswer {
  uint64_t operation = 0;
  uint64_t revision = 0;
  absl::Status error = {};  // OK: the fields below have a meaning
  bool changed = false;
  std::optional<int64_t> number = {};
  Bytes value = nullptr;  // may be null
  std::vector<std::string> keys = {};
  bool more = false;
};

struct StoreChange {
  struct Appended {
    Bytes bytes;
  };
  struct Pushed {
    Bytes element;
  };
  struct Popped {};
  uint64_t base_revision = 0;
  std::variant<Appended, Pushed, Popped, StoreArrivals> what;
  StoreOperationId operation;
  StoreResult result;
  std::vector<StoreOperationId> acknowledged;
};

struct StoreHold {
  std::string key;
  StoreVersion version;
  // Never null. Shared by keeper and copy.
  std::variant<std::shared_ptr<const StoreEntry>, std::shared_ptr<const StoreChange>> content;
  uint64_t value_of_operation = 0;
};

struct StoreDrop {
  std::string key;
  uint64_t revision = 0;
};
struct StoreFetch {
  std::vector<std::string> keys;
};

struct StoreWatchEvent {
  struct Elements {
    uint64_t number = 0;
  };
  struct Arrivals {
    uint64_t number = 0;
  };
  uint64_t watch = 0;
  std::string key;
  uint64_t revision = 0;
  std::variant<StoreTombstone, Bytes, Elements, Arrivals> state;
};

struct StoreWatchSynced {
  uint64_t watch = 0;
  uint64_t revision = 0;
  std::vector<std::string> keys;
  bool more = false;
};

using StoreResponse = std::variant<StoreOpened, StoreClients, StoreAnswer, StoreHold, StoreDrop,
                                   StoreFetch, StoreWatchEvent, StoreWatchSynced>;

// A message to send on a store stream.
struct StoreMessage {
  WaiterId stream = 0;
  StoreResponse message;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_STORE_MESSAGES_H_
