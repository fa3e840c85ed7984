#include "client/nccl/device/libraries.h"

namespace muster::internal {
namespace {

using Loader = absl::Status (*)();

// Constant-initialized, because static initializers set it.
Loader loader = nullptr;

}  // namespace

bool RegisterLibraryLoader(absl::Status (*load)()) {
  loader = load;
  return true;
}

absl::Status LoadLibraries() { return loader == nullptr ? absl::OkStatus() : loader(); }

}  // namespace muster::internal
