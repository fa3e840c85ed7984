#include "server/daemon/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace muster::daemon {
namespace {

// What the daemon itself has open (about a dozen), and connections that are not members': status,
// launchers, and old ones of members that attach again.
constexpr uint64_t kNotForMembers = 32;

// The usual soft limit is 1024; the hard one mostly is much higher.
uint64_t RaiseLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<uint64_t>::max();
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace

absl::Status FitMembersToDescriptors(uint64_t for_pages, core::Options* options) {
  const uint64_t limit = RaiseLimit();
  const uint64_t room = limit - std::min(limit, kNotForMembers + for_pages);
  if (options->limits.max_members <= room) return absl::OkStatus();
  const std::string what = absl::StrCat("the limit of open files (ulimit -Hn) is ", limit,
                                        ", enough for ", room, room == 1 ? " member" : " members");
  if (options->world_size > room || room == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, "; --world-size is ", options->world_size, ": raise the limit"));
  }
  spdlog::debug("{}: --max-members is lowered to that", what);
  options->limits.max_members = static_cast<uint32_t>(room);
  return absl::OkStatus();
}

}  // namespace muster::daemon
