#include "server/core/store/client_list.h"

namespace muster::core::store {

bool ClientList::Join(const Incarnation& id) {
  if (!joined_.insert(id).second) return false;
  news_.push_back({id, false});
  return true;
}

bool ClientList::Lose(const Incarnation& id) {
  Join(id);
  if (!lost_.insert(id).second) return false;
  news_.push_back({id, true});
  return true;
}

StoreClients ClientList::NewsSince(size_t position) const {
  StoreClients news;
  for (; position < news_.size(); ++position) {
    (news_[position].lost ? news.lost : news.joined).push_back(news_[position].id);
  }
  return news;
}

StoreClients ClientList::MissingIn(const StoreClaim& claim, const Incarnation& self) const {
  const std::set<Incarnation> joined(claim.joined.begin(), claim.joined.end());
  const std::set<Incarnation> lost(claim.lost.begin(), claim.lost.end());
  StoreClients missing;
  for (const Incarnation& id : joined_) {
    if (id != self && joined.count(id) == 0) missing.joined.push_back(id);
  }
  for (const Incarnation& id : lost_) {
    if (lost.count(id) == 0) missing.lost.push_back(id);
  }
  return missing;
}

}  // namespace muster::core::store
