#include <exception>

#include "absl/strings/str_cat.h"
#include "muster/job.h"
#include "muster/scopes.h"

namespace muster::internal {

absl::Status CallGuarded(absl::FunctionRef<void()> work) {
  try {
    work();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("the function threw: ", error.what()));
  } catch (...) {
    return absl::InternalError("the function threw something that is no std::exception");
  }
  return absl::OkStatus();
}

absl::Status CallAlone(Job& job, absl::FunctionRef<void()> work) {
  const PreventBlock alone(job);
  return CallGuarded(work);
}

}  // namespace muster::internal
