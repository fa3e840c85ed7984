#ifndef MUSTER_CLIENT_SRC_PROTOCOL_STORE_CLIENT_LIST_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_STORE_CLIENT_LIST_H_

#include <set>
#include <string>
#include <vector>

#include "muster/v1/store.pb.h"

namespace muster::internal {

// The clients of the store that this client knows, joined and lost. It only grows, so that any
// surviving client can tell a restarted daemon whose claims count (K10).
class ClientList {
 public:
  explicit ClientList(const std::string& self) : joined_({self}) {}

  // Returns the clients that were not known as lost before.
  std::vector<std::string> Merge(const v1::StoreClients& news) {
    joined_.insert(news.joined().begin(), news.joined().end());
    std::vector<std::string> lost;
    for (const std::string& client : news.lost()) {
      if (lost_.insert(client).second) lost.push_back(client);
    }
    return lost;
  }

  void AddTo(v1::StoreClaim* claim) const {
    for (const std::string& client : joined_) claim->add_joined(client);
    for (const std::string& client : lost_) claim->add_lost(client);
  }

 private:
  std::set<std::string> joined_;
  std::set<std::string> lost_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_STORE_CLIENT_LIST_H_
