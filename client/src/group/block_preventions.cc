#include "client/src/group/block_preventions.h"

#include <algorithm>
#include <vector>

namespace muster::internal {
namespace {

// The jobs of this thread's open scopes, with one entry for each scope.
thread_local std::vector<const BlockPreventions*> open;

}  // namespace

void BlockPreventions::Open() { open.push_back(this); }

void BlockPreventions::Close() {
  const auto scope = std::find(open.begin(), open.end(), this);
  if (scope != open.end()) open.erase(scope);
}

bool BlockPreventions::AnyOpen() const {
  return std::find(open.begin(), open.end(), this) != open.end();
}

}  // namespace muster::internal
