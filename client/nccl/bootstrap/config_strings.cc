#include "client/nccl/bootstrap/config_strings.h"

#include <set>
#include <string>

#include "absl/synchronization/mutex.h"

namespace muster::internal {
namespace {

// Returns a copy that is never freed. Null stays null, which is NCCL_CONFIG_UNDEF_PTR.
const char* Intern(const char* text) {
  if (text == nullptr) return nullptr;
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const strings = new std::set<std::string>;
  absl::MutexLock lock(&mutex);
  return strings->insert(text).first->c_str();
}

}  // namespace

void InternConfigStrings(ncclConfig_t* config) {
  config->netName = Intern(config->netName);
#if NCCL_VERSION_CODE >= 22700
  config->commName = Intern(config->commName);
#endif
}

}  // namespace muster::internal
