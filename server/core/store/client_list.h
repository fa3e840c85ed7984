#ifndef MUSTER_SERVER_CORE_STORE_CLIENT_LIST_H_
#define MUSTER_SERVER_CORE_STORE_CLIENT_LIST_H_

#include <cstddef>
#include <set>
#include <vector>

#include "server/core/api/store_messages.h"

namespace muster::core::store {

// The list of clients, joined and lost (K10). It only grows, and keeps its news in the order in
// which this daemon learned of them. So each client is told the news after a position.
class ClientList {
 public:
  // Returns the number of news.
  size_t size() const { return news_.size(); }
  bool HasJoined(const Incarnation& id) const { return joined_.count(id) > 0; }
  bool IsLost(const Incarnation& id) const { return lost_.count(id) > 0; }

  // These do nothing, and return false, if the list has it already. A lost client has joined.
  bool Join(const Incarnation& id);
  bool Lose(const Incarnation& id);

  // Returns the news from a position on.
  StoreClients NewsSince(size_t position) const;
  // Returns the part of the whole list that a claim lacks. `self` is never in it.
  StoreClients MissingIn(const StoreClaim& claim, const Incarnation& self) const;

 private:
  struct News {
    Incarnation id;
    bool lost = false;
  };
  std::set<Incarnation> joined_;
  std::set<Incarnation> lost_;
  std::vector<News> news_;
};

}  // namespace muster::core::store

#endif  // MUSTER_SERVER_CORE_STORE_CLIENT_LIST_H_
