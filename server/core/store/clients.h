#ifndef MUSTER_SERVER_CORE_STORE_CLIENTS_H_
#define MUSTER_SERVER_CORE_STORE_CLIENTS_H_

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/core/store/client_list.h"
#include "server/core/store/parked_operation.h"
#include "server/core/store/slots.h"

namespace muster::core::store {

// A message that was sent on the current stream and is not confirmed.
struct SentNews {
  size_t position = 0;  // of the list, after the news
};
struct SentAnswer {
  uint64_t operation = 0;
};
struct SentHold {
  Slot* slot = nullptr;
  StoreVersion version;
};
struct SentDrop {
  Slot* slot = nullptr;
};
struct SentOther {};
struct Sent {
  uint64_t position = 0;  // on the stream, from 1
  uint64_t bytes = 0;
  std::variant<SentOther, SentNews, SentAnswer, SentHold, SentDrop> what;
};

// A client that is not lost.
struct Client {
  // Returns "rank 3 (node n1)", or as much as this daemon has been told.
  std::string Describe() const;
  bool attached() const { return stream != 0; }
  // Returns whether the client has had an operation answered, or given up, for good.
  bool HasAcknowledged(uint64_t operation) const;
  // Returns whether the daemon may send more that can wait.
  bool HasRoom() const { return unconfirmed.size() < 1024 && unconfirmed_bytes < (32 << 20); }

  Incarnation id;
  size_t joined_at = 0;           // its position in the list
  std::optional<StoreOpen> open;  // of its latest stream
  int fetches_failed = 0;

  // The stream. 0: it has none.
  WaiterId stream = 0;
  uint64_t sent = 0;       // number of messages
  uint64_t processed = 0;  // number of them that are confirmed
  std::deque<Sent> unconfirmed;
  uint64_t unconfirmed_bytes = 0;
  size_t told = 0;   // the news of the list that were sent on this stream
  size_t knows = 0;  // the news of the list that the client has confirmed

  uint64_t latest_operation = 0;                                    // on the stream
  std::map<uint64_t, std::unique_ptr<ParkedOperation>> operations;  // of the stream
  std::map<uint64_t, Slot*> recorded;  // operations whose results are in entries
  SlotSet slots;                       // of which it is a holder, or may hold something
  std::set<std::string> postponed;     // keys of holds that wait for room
};

// The clients by id and by stream, their list, and which of them all others know (K10, K11).
class Clients {
 public:
  const ClientList& list() const { return list_; }
  const std::map<Incarnation, std::unique_ptr<Client>>& all() const { return clients_; }
  // These return null if there is no such client, or if it is lost.
  Client* Find(const Incarnation& id) const;
  Client* FindByStream(WaiterId stream) const;
  bool any_attached() const { return !streams_.empty(); }
  size_t attached() const { return streams_.size(); }

  // Adds a client, unless it is in the list. Returns null if it is lost.
  Client* Join(const Incarnation& id);
  // Takes the client out. Nothing may refer to it any more.
  void Lose(const Incarnation& id);

  void Attach(Client* client, WaiterId stream, const StoreOpen& open);
  void Detach(Client* client);

  // Notes that the client knows the list up to a position.
  void NoteKnows(Client* client, size_t position);
  // Returns whether all other clients know this one. Clients that have come later get the list
  // before all else, so what was true once stays true.
  bool IsKnown(const Client& client) const { return client.joined_at < known_; }
  // Returns a client that all know now and that was not returned since it attached, or null. Must
  // not be called before all clients of the list are here or lost.
  Client* TakeKnown();

  // Chooses the client, other than `keeper`, that gets a copy: on another node if there is one.
  Client* ChooseCopy(const Slot& slot, const Client* keeper) const;

 private:
  ClientList list_;
  std::map<Incarnation, std::unique_ptr<Client>> clients_;
  absl::flat_hash_map<WaiterId, Client*> streams_;
  std::multiset<size_t> knows_;                        // of all clients
  size_t known_ = 0;                                   // the news that all clients have known
  std::set<std::pair<size_t, Incarnation>> unserved_;  // by the position in the list
};

}  // namespace muster::core::store

#endif  // MUSTER_SERVER_CORE_STORE_CLIENTS_H_
