#include "client/launcher/coordinator/client_group.h"

#include <grpcpp/client_context.h>

namespace muster::launcher {

void ClientGroup::Close(absl::Duration patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  closed_ = true;
  // Holds the lock, because a context may be destroyed as soon as its call has been removed.
  for (grpc::ClientContext* call : calls_) call->TryCancel();
  changed_.wait_for(lock, absl::ToChronoMilliseconds(patience), [this] { return clients_ == 0; });
}

bool ClientGroup::AddClient() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!closed_) ++clients_;
  return !closed_;
}

bool ClientGroup::AddCall(grpc::ClientContext* context) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!closed_) calls_.insert(context);
  return !closed_;
}

void ClientGroup::RemoveClient() {
  const std::lock_guard<std::mutex> lock(mutex_);
  --clients_;
  changed_.notify_all();
}

void ClientGroup::RemoveCall(grpc::ClientContext* context) {
  const std::lock_guard<std::mutex> lock(mutex_);
  calls_.erase(context);
}

}  // namespace muster::launcher
