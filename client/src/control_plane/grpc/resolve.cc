#include "client/src/control_plane/grpc/resolve.h"

#include <netdb.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/src/base/backoff.h"
#include "client/src/base/cancel_watch.h"
#include "common/process/start_thread.h"

namespace muster::internal {
namespace {

// State shared with the resolver's thread. getaddrinfo() has no deadline and cannot be cancelled,
// so it runs on a detached thread.
struct Lookup {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<std::string> error;  // set when the lookup has ended; empty if it succeeded
  bool cancelled = false;
};

std::string Resolve(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (code != 0) return gai_strerror(code);
  freeaddrinfo(found);
  return "";
}

absl::Status StartLookup(const std::shared_ptr<Lookup>& lookup, const std::string& host) {
  lookup->error.reset();
  return StartDetachedThread("ask the system's resolver", [lookup, host] {
    std::string error = Resolve(host);
    std::lock_guard<std::mutex> lock(lookup->mutex);
    lookup->error = std::move(error);
    lookup->changed.notify_all();
  });
}

}  // namespace

absl::Status AwaitResolvable(const HostPort& address, const Deadline& deadline) {
  if (address.is_ipv4() || address.is_ipv6()) return absl::OkStatus();
  const auto lookup = std::make_shared<Lookup>();
  CancelWatch watch(deadline.cancellation(), [lookup] {
    std::lock_guard<std::mutex> lock(lookup->mutex);
    lookup->cancelled = true;
    lookup->changed.notify_all();
  });
  const Random random = RandomFromDevice();
  Backoff backoff;
  std::string last_error = "no answer from the resolver";
  std::unique_lock<std::mutex> lock(lookup->mutex);
  while (true) {
    if (absl::Status started = StartLookup(lookup, address.host); !started.ok()) return started;
    lookup->changed.wait_until(lock, deadline.when(),
                               [&] { return lookup->cancelled || lookup->error; });
    if (lookup->cancelled) return absl::CancelledError("the call was cancelled");
    if (lookup->error && lookup->error->empty()) return absl::OkStatus();
    last_error = lookup->error.value_or(last_error);
    const SteadyTime next =
        std::min(deadline.when(), After(SteadyClock::now(), backoff.Next(random)));
    lookup->changed.wait_until(lock, next, [&] { return lookup->cancelled; });
    if (SteadyClock::now() >= deadline.when()) return absl::DeadlineExceededError(last_error);
  }
}

}  // namespace muster::internal
