#include "client/nccl/communicator/family.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/nccl/communicator/handle.h"
#include "client/src/base/error_note.h"

namespace muster::internal {
namespace {

constexpr char kEnvironmentPlugin[] = "libnccl-env.so";

// Returns whether the variable is 1, or was 1 before in this process: NCCL reads it only once, so a
// value that is gone may still count.
bool EnvironmentShares() {
  static std::atomic<bool> shares{false};
  const char* const value = std::getenv("NCCL_COMM_SPLIT_SHARE_RESOURCES");
  if (value != nullptr && std::strtoll(value, nullptr, 0) == 1) shares = true;
  return shares;
}

bool HasEnvironmentPlugin() {
  const char* const name = std::getenv("NCCL_ENV_PLUGIN");
  if (name != nullptr && *name != '\0') return !absl::EqualsIgnoreCase(name, "none");
  // If no name is set, NCCL loads the plug-in that the loader finds.
  void* const loaded = dlopen(kEnvironmentPlugin, RTLD_LAZY | RTLD_NOLOAD);
  if (loaded == nullptr) return false;
  dlclose(loaded);
  return true;
}

absl::Status ErrorForOthers(const absl::Status& why) {
  return Reworded(why, absl::StrCat(why.message(),
                                    "; NCCL ended this communicator with that one, because they "
                                    "share resources (splitShare, or "
                                    "NCCL_COMM_SPLIT_SHARE_RESOURCES)"));
}

}  // namespace

void NcclFamily::Add(std::weak_ptr<NcclHandle> member) {
  absl::MutexLock lock(&mutex_);
  members_.push_back(std::move(member));
}

bool NcclFamily::IsShared() const {
  absl::MutexLock lock(&mutex_);
  return members_.size() > 1;
}

std::vector<std::shared_ptr<NcclHandle>> NcclFamily::Members() const {
  std::vector<std::shared_ptr<NcclHandle>> members;
  absl::MutexLock lock(&mutex_);
  for (const std::weak_ptr<NcclHandle>& one : members_) {
    if (auto member = one.lock(); member != nullptr) members.push_back(std::move(member));
  }
  return members;
}

bool NcclFamily::End(const NcclHandle* first, const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (why.ok() || !end_.ok()) return false;
    first_ = first;
    end_ = why;
    others_end_ = first == nullptr ? why : ErrorForOthers(why);
  }
  for (const std::shared_ptr<NcclHandle>& member : Members()) member->NotifyEnd();
  return true;
}

void NcclFamily::AnnounceStop() {
  for (const std::shared_ptr<NcclHandle>& member : Members()) member->AnnounceOwnStop();
}

absl::Status NcclFamily::MemberHealth(const NcclHandle* member) const {
  absl::MutexLock lock(&mutex_);
  return member == first_ ? end_ : others_end_;
}

bool SharesResources(int split_share) {
  const bool environment = EnvironmentShares();
  return split_share == 1 || environment || HasEnvironmentPlugin();
}

}  // namespace muster::internal
