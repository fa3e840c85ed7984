#include "muster/scopes.h"

#include "client/src/job_access.h"

namespace muster {

PreventBlock::PreventBlock(Job& job) : preventions_(internal::JobAccess::BlockPreventions(job)) {
  preventions_->Open();
}

PreventBlock::~PreventBlock() { preventions_->Close(); }

namespace internal {

ScopeOf::ScopeOf(Job& job, bool runs) {
  if (runs) alone_.emplace(job);
}

}  // namespace internal
}  // namespace muster
