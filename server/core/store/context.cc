#include "server/core/store/context.h"

#include <utility>

namespace muster::core::store {

void Context::Send(Client* client, StoreResponse message, decltype(Sent::what) what,
                   uint64_t bytes) {
  if (!std::holds_alternative<StoreOpened>(message)) Tell(client);
  client->unconfirmed.push_back({++client->sent, bytes, what});
  client->unconfirmed_bytes += bytes;
  out.messages.push_back({client->stream, std::move(message)});
}

void Context::Tell(Client* client) {
  const size_t news = clients.list().size();
  if (client->told >= news) return;
  StoreClients message = clients.list().NewsSince(std::exchange(client->told, news));
  client->unconfirmed.push_back({++client->sent, 0, SentNews{news}});
  out.messages.push_back({client->stream, std::move(message)});
}

}  // namespace muster::core::store
