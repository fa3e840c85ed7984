#include "client/nccl/bootstrap/config_texts.h"

#include <set>
#include <string>

#include "absl/synchronization/mutex.h"

namespace muster::internal {
namespace {

// Returns a copy that is never freed. Null stays null, which is NCCL_CONFIG_UNDEF_PTR.
const char* Keep(const char* text) {
  if (text == nullptr) return nullptr;
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const kept = new std::set<std::string>;
  absl::MutexLock lock(&mutex);
  return kept->insert(text).first->c_str();
}

}  // namespace

void KeepTexts(ncclConfig_t* config) {
  config->netName = Keep(config->netName);
#if NCCL_VERSION_CODE >= 22700
  config->commName = Keep(config->commName);
#endif
}

}  // namespace muster::internal
