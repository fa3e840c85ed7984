#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_LINK_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_LINK_H_

#include <grpcpp/channel.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "client/src/base/steady_clock.h"
#include "common/credentials/caller_credentials.h"
#include "common/names/host_port.h"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster::internal {

// A channel and its stub. Calls share ownership, so a replaced link lives until its calls have
// ended.
struct Link {
  explicit Link(std::shared_ptr<grpc::Channel> c)
      : channel(std::move(c)), stub(v1::CoordinatorService::NewStub(channel)) {}
  bool connected() const { return channel->GetState(false) == GRPC_CHANNEL_READY; }

  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<v1::CoordinatorService::Stub> stub;
  const SteadyTime made = SteadyClock::now();
};

// The time-out of an attempt to connect. It starts short, so that a coordinator that has moved is
// found soon. It doubles after each attempt that ran into it: if thousands of processes connect at
// once, handshakes are slow, and giving up early would only add more of them.
class ConnectTimeout {
 public:
  std::chrono::milliseconds value() const { return value_; }
  // Reports the last attempt: it was answered, or it was not answered for `lasted`.
  void Answered() { value_ = kFirst; }
  void Unanswered(SteadyClock::duration lasted);

 private:
  static constexpr std::chrono::milliseconds kFirst{5000};
  static constexpr std::chrono::milliseconds kLargest{20000};

  std::chrono::milliseconds value_ = kFirst;
};

// The links of one member, one after the other. Thread-safe.
class GrpcLinks {
 public:
  GrpcLinks(const HostPort& address, std::shared_ptr<CallerCredentials> credentials);

  // Returns the link for an Attach: the current one if it is connected, otherwise a new one, which
  // resolves the coordinator's name again. A gRPC channel would back off further and further while
  // a name does not resolve, but the back-off is MemberCore's decision.
  std::shared_ptr<Link> ForAttach();
  // Returns the link of the latest Attach, for every other call.
  std::shared_ptr<Link> Current() const;

  // Notes that `peer`, as gRPC names it, answered the latest Attach.
  void Answered(const std::string& peer);
  // Returns the host of that peer, or an empty string before.
  std::string peer() const;
  bool connected() const;

 private:
  const std::string target_;
  const std::shared_ptr<CallerCredentials> credentials_;
  mutable std::mutex mutex_;  // guards all fields below
  std::shared_ptr<Link> current_;
  bool answered_ = false;  // whether the current link has been answered at least once
  ConnectTimeout connect_timeout_;
  std::string peer_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_LINK_H_
