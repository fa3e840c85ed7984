#include "server/service/callback_thread_heartbeat.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <chrono>

namespace muster::service {
namespace {

// Less than a second, for which a thread stays awake after it has handled a beat.
constexpr std::chrono::milliseconds kBeatInterval(400);

}  // namespace

std::shared_ptr<CallbackThreadHeartbeat> CallbackThreadHeartbeat::Get() {
  static auto* const mutex = new std::mutex();
  static auto* const known = new std::weak_ptr<CallbackThreadHeartbeat>();
  const std::lock_guard<std::mutex> lock(*mutex);
  std::shared_ptr<CallbackThreadHeartbeat> heartbeat = known->lock();
  if (heartbeat == nullptr) *known = heartbeat = std::make_shared<CallbackThreadHeartbeat>();
  return heartbeat;
}

CallbackThreadHeartbeat::CallbackThreadHeartbeat()
    : channel_(grpc::CreateChannel("unix:nowhere", grpc::InsecureChannelCredentials())),
      thread_([this] { Run(); }) {}

CallbackThreadHeartbeat::~CallbackThreadHeartbeat() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void CallbackThreadHeartbeat::Run() {
  Lock lock(mutex_);
  while (!stopping_) {
    Beat(&lock);
    changed_.wait_for(lock, kBeatInterval, [this] { return stopping_; });
  }
}

// Makes a call and blocks until its callback has run. The call is cancelled before it starts, so it
// ends at once, and its callback runs on the same threads as every other callback.
void CallbackThreadHeartbeat::Beat(Lock* lock) {
  grpc::ClientContext context;
  const grpc::Slice nothing;
  const grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer response;
  context.TryCancel();
  beating_ = true;
  lock->unlock();
  grpc::GenericStub(channel_).UnaryCall(&context, "/muster/Beat", {}, &request, &response,
                                        [this](const grpc::Status&) {
                                          const std::lock_guard<std::mutex> done(mutex_);
                                          beating_ = false;
                                          changed_.notify_all();
                                        });
  lock->lock();
  changed_.wait(*lock, [this] { return !beating_; });
}

}  // namespace muster::service
