#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_LINK_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_LINK_H_

#include <grpcpp/channel.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "client/src/base/steady_clock.h"
#include "common/caller_credentials.h"
#include "common/host_port.h"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster::internal {

// A channel, for as long as its calls take and it is in use.
struct Link {
  explicit Link(std::shared_ptr<grpc::Channel> c)
      : channel(std::move(c)), stub(v1::CoordinatorService::NewStub(channel)) {}
  bool connected() const { return channel->GetState(false) == GRPC_CHANNEL_READY; }

  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<v1::CoordinatorService::Stub> stub;
  const SteadyTime made = SteadyClock::now();
};

// How long an attempt to connect may take. It begins short, so that a coordinator that has moved is
// found soon. But where thousands of processes connect to one at a moment a handshake takes longer,
// and to give it up and begin another one would only make it worse.
class ConnectTimeout {
 public:
  std::chrono::milliseconds value() const { return value_; }
  // What became of the last attempt: it was answered, or has lasted so long without.
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

  // A link for an Attach: the current one if it is connected, else one that begins at the
  // beginning, with the coordinator's name. A channel of gRPC's would wait longer and longer for a
  // name that is gone for a while, and how long members wait is not for gRPC to decide.
  std::shared_ptr<Link> ForAttach();
  // For every other call: that of the latest Attach, which comes before them.
  std::shared_ptr<Link> Current() const;

  // The latest Attach was answered, by `peer` as gRPC names it.
  void Answered(const std::string& peer);
  // The host of that peer; empty before.
  std::string peer() const;
  bool connected() const;

 private:
  const std::string target_;
  const std::shared_ptr<CallerCredentials> credentials_;
  mutable std::mutex mutex_;  // guards all below
  std::shared_ptr<Link> current_;
  bool answered_ = false;  // the current one, at least once
  ConnectTimeout connect_timeout_;
  std::string peer_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_LINK_H_
