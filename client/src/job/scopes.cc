#include "muster/scopes.h"

#include <exception>

#include "absl/strings/str_cat.h"
#include "client/src/job/job_access.h"

namespace muster {

PreventBlock::PreventBlock(Job& job) : preventions_(internal::JobAccess::BlockPreventions(job)) {
  preventions_->Open();
}

PreventBlock::~PreventBlock() { preventions_->Close(); }

namespace internal {

ScopeOf::ScopeOf(Job& job, bool runs) {
  if (runs) alone_.emplace(job);
}

absl::Status CallGuarded(absl::FunctionRef<void()> work) {
  try {
    work();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("the function threw: ", error.what()));
  } catch (...) {
    return absl::InternalError("the function threw something other than a std::exception");
  }
  return absl::OkStatus();
}

absl::Status CallAlone(Job& job, absl::FunctionRef<void()> work) {
  const PreventBlock alone(job);
  return CallGuarded(work);
}

}  // namespace internal
}  // namespace muster
