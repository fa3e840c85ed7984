#include "client/launcher/plan/master_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/text/fnv1a.h"

namespace muster::launcher {
namespace {

// Below the kernel's range of ephemeral ports.
constexpr int kFirstPort = 20000;
constexpr int kPortCount = 10000;

}  // namespace

// Binds with IPv4, because a program that uses IPv6 usually binds IPv4 too.
std::optional<int> FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(fd, generic, size) == 0 && getsockname(fd, generic, &size) == 0;
  close(fd);
  return bound ? std::optional<int>(ntohs(address.sin_port)) : std::nullopt;
}

int MasterPort(const JobPlan& plan) {
  if (plan.master_port) return *plan.master_port;
  // A hash that is the same on every machine and in every build.
  const uint32_t hash = Fnv1a32(absl::StrCat(plan.coordinator.ToString(), " ", plan.job));
  const int port = kFirstPort + static_cast<int>(hash % kPortCount);
  return port == plan.coordinator.port ? port + 1 : port;
}

}  // namespace muster::launcher
