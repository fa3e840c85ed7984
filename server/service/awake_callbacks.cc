#include "server/service/awake_callbacks.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <chrono>

namespace muster::service {
namespace {

// Less than a second, for which a thread stays awake after it has handled a beat.
constexpr std::chrono::milliseconds kInterval(400);

}  // namespace

std::shared_ptr<AwakeCallbacks> AwakeCallbacks::Get() {
  static auto* const mutex = new std::mutex();
  static auto* const known = new std::weak_ptr<AwakeCallbacks>();
  const std::lock_guard<std::mutex> lock(*mutex);
  std::shared_ptr<AwakeCallbacks> awake = known->lock();
  if (awake == nullptr) *known = awake = std::make_shared<AwakeCallbacks>();
  return awake;
}

AwakeCallbacks::AwakeCallbacks()
    : channel_(grpc::CreateChannel("unix:nowhere", grpc::InsecureChannelCredentials())),
      thread_([this] { Run(); }) {}

AwakeCallbacks::~AwakeCallbacks() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void AwakeCallbacks::Run() {
  Lock lock(mutex_);
  while (!stopping_) {
    Beat(&lock);
    changed_.wait_for(lock, kInterval, [this] { return stopping_; });
  }
}

// Makes a call and blocks until its callback has run. The call is cancelled before it starts, so it
// ends at once, and its callback runs on the same threads as every other callback.
void AwakeCallbacks::Beat(Lock* lock) {
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
