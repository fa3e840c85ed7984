#include "server/daemon/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace muster::daemon {
namespace {

// What the daemon itself has open (about a dozen), and connections that are neither members' nor
// launchers': status, and old ones of members that attach again.
constexpr uint64_t kForOthers = 32;

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
  const uint64_t room = limit - std::min(limit, kForOthers + for_pages);
  const bool elastic = options->max_world_size != 0;
  const uint64_t world = elastic ? options->max_world_size : options->world_size;
  // That is a mistake of its own, which core::Options::Validate() names.
  if (world > options->limits.max_members) return absl::OkStatus();
  const std::string what = absl::StrCat("the limit of open files (ulimit -Hn) is ", limit,
                                        ", enough for ", room, room == 1 ? " member" : " members");
  if (world > room || room == 0) {
    return absl::InvalidArgumentError(absl::StrCat(what, "; --", elastic ? "max-" : "",
                                                   "world-size is ", world, ": raise the limit"));
  }
  // A node has a launcher, and may have one member alone. A world of known size keeps its room.
  const uint64_t most = std::max(world, (room + 1) / 2);
  if (options->limits.max_members <= most) return absl::OkStatus();
  spdlog::debug("{} without launchers: --max-members is lowered to {}", what, most);
  options->limits.max_members = static_cast<uint32_t>(most);
  return absl::OkStatus();
}

}  // namespace muster::daemon
