#ifndef MUSTER_SERVER_SERVICE_AWAKE_CALLBACKS_H_
#define MUSTER_SERVER_SERVICE_AWAKE_CALLBACKS_H_

#include <grpcpp/channel.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace muster::service {

// Keeps the threads that run gRPC's callbacks awake, for as long as the object is there. Where
// nothing has come for a second, each of them sleeps for 100 ms and looks at nothing meanwhile (as
// of gRPC 1.51): with few cores, and so few of them, all sleep at once, and what comes then is that
// late. So a call that ends where it begins comes more often than that. Costs one thread of its
// own.
class AwakeCallbacks {
 public:
  // The process's one; it goes with its last holder. Thread-safe.
  static std::shared_ptr<AwakeCallbacks> Get();

  AwakeCallbacks();
  ~AwakeCallbacks();

 private:
  using Lock = std::unique_lock<std::mutex>;
  void Run();
  void Beat(Lock* lock);

  const std::shared_ptr<grpc::Channel> channel_;  // connects to nothing
  std::mutex mutex_;
  std::condition_variable changed_;
  bool beating_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_AWAKE_CALLBACKS_H_
