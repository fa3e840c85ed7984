#include "server/daemon/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace muster::daemon {
namespace {

// Descriptors for the daemon itself (about a dozen), and for connections of others than members and
// launchers: status calls, and old connections of members that have attached again.
constexpr uint64_t kReservedDescriptors = 32;

// Raises the soft limit and returns it. The soft limit is usually 1024; the hard limit is
// usually much higher.
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
  const uint64_t room = limit - std::min(limit, kReservedDescriptors + for_pages);
  const bool elastic = options->max_world_size != 0;
  const uint64_t world = elastic ? options->max_world_size : options->world_size;
  // A world beyond --max-members is another mistake, which core::Options::Validate() reports.
  if (world > options->limits.max_members) return absl::OkStatus();
  const std::string what = absl::StrCat("the limit of open files (ulimit -Hn) is ", limit,
                                        ", enough for ", room, room == 1 ? " member" : " members");
  if (world > room || room == 0) {
    return absl::InvalidArgumentError(absl::StrCat(what, "; --", elastic ? "max-" : "",
                                                   "world-size is ", world, ": raise the limit"));
  }
  // Each node has a launcher, and may have only one member. A world of known size keeps its room,
  // since how many nodes it has is not known yet.
  if (world != 0 && room - world < world) {
    spdlog::warn(
        "{}; --{}world-size {} leaves {} for launchers, one a node, and {} for everything else: if "
        "the job has more nodes than these, raise the limit, or launchers and muster status may "
        "not reach this daemon",
        what, elastic ? "max-" : "", world, room - world, kReservedDescriptors);
  }
  const uint64_t most = std::max(world, (room + 1) / 2);
  if (options->limits.max_members <= most) return absl::OkStatus();
  spdlog::debug("{} without launchers: --max-members is lowered to {}", what, most);
  options->limits.max_members = static_cast<uint32_t>(most);
  return absl::OkStatus();
}

}  // namespace muster::daemon
