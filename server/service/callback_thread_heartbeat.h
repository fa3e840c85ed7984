#ifndef MUSTER_SERVER_SERVICE_CALLBACK_THREAD_HEARTBEAT_H_
#define MUSTER_SERVER_SERVICE_CALLBACK_THREAD_HEARTBEAT_H_

#include <grpcpp/channel.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace muster::service {

// A heartbeat that keeps gRPC's callback threads awake while the object lives. As of gRPC 1.51, a
// callback thread that has been idle for a second sleeps for 100 ms and polls nothing meanwhile.
// With few cores there are few such threads. If all of them sleep at once, the next call is handled
// up to 100 ms late. So this object makes a call within the process more often than once a second.
// It uses a thread of its own.
class CallbackThreadHeartbeat {
 public:
  // Returns the object that the process shares. It is destroyed with its last holder. Thread-safe.
  static std::shared_ptr<CallbackThreadHeartbeat> Get();

  CallbackThreadHeartbeat();
  ~CallbackThreadHeartbeat();

 private:
  using Lock = std::unique_lock<std::mutex>;
  void Run();
  void Beat(Lock* lock);

  const std::shared_ptr<grpc::Channel> channel_;  // has no server behind it
  std::mutex mutex_;
  std::condition_variable changed_;
  bool beating_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CALLBACK_THREAD_HEARTBEAT_H_
