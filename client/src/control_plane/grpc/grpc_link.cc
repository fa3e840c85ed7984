#include "client/src/control_plane/grpc/grpc_link.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::internal {
namespace {

std::string Target(const HostPort& address) {
  const absl::string_view scheme = address.is_ipv4()   ? "ipv4:"
                                   : address.is_ipv6() ? "ipv6:"
                                                       : "dns:///";
  return absl::StrCat(scheme, address.ToString());
}

grpc::ChannelArguments ChannelOptions(std::chrono::milliseconds connect_timeout) {
  constexpr int kLargestBackoffMs = 1000;
  constexpr int kNameTimeoutMs = 5000;
  // Shorter than the daemon's defaults. A member whose connection stalls therefore reconnects
  // before it counts as lost, if the network is back by then. TCP alone sends lost data again
  // 12.6 s and then 25 s after the first time.
  constexpr int kKeepaliveMs = 3000;
  constexpr int kKeepaliveTimeoutMs = 6000;
  grpc::ChannelArguments args;
  // Use a connection of its own: calls of another member of this process must not keep it alive.
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  args.SetMaxReceiveMessageSize(-1);
  args.SetMaxSendMessageSize(-1);
  // Also ping while no call is in flight, to notice that the coordinator's host has died.
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  args.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Reconnect fast: a member that attaches again within seconds keeps its place.
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Despite its name, this is the time-out of one attempt to connect.
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(connect_timeout.count()));
  args.SetInt(GRPC_ARG_DNS_ARES_QUERY_TIMEOUT_MS, kNameTimeoutMs);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLargestBackoffMs);
  args.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, kLargestBackoffMs);
  return args;
}

}  // namespace

void ConnectTimeout::Unanswered(SteadyClock::duration lasted) {
  if (lasted >= value_) value_ = std::min(2 * value_, kLargest);
}

GrpcLinks::GrpcLinks(const HostPort& address, std::shared_ptr<CallerCredentials> credentials)
    : target_(Target(address)), credentials_(std::move(credentials)) {}

std::shared_ptr<Link> GrpcLinks::ForAttach() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (current_ != nullptr && current_->connected()) return current_;
  if (current_ != nullptr && !answered_) {
    connect_timeout_.Unanswered(SteadyClock::now() - current_->made);
  }
  answered_ = false;
  current_ = std::make_shared<Link>(
      credentials_->NewChannel(target_, ChannelOptions(connect_timeout_.value())));
  return current_;
}

std::shared_ptr<Link> GrpcLinks::Current() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return current_;
}

void GrpcLinks::Answered(const std::string& peer) {
  std::lock_guard<std::mutex> lock(mutex_);
  peer_ = peer;
  answered_ = true;
  connect_timeout_.Answered();
}

std::string GrpcLinks::peer() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return ParsePeerHost(peer_);
}

bool GrpcLinks::connected() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return current_ != nullptr && current_->connected();
}

}  // namespace muster::internal
