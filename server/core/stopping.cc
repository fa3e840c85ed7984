// An agreed stop: asked for by one, and known to all at one and the same collective.

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"

namespace muster::core {

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member, const StopRequest&) {
  if (!epoch() || !member->rank()) {
    return absl::FailedPreconditionError(absl::StrCat(member->who(), " has not joined the job"));
  }
  if (!life_.stop_asked())
    job_.Log(Severity::kInfo, absl::StrCat(member->who(), " asks all ranks to stop"));
  life_.AskStop();
  calls_.Respond(id);
  return absl::OkStatus();
}

}  // namespace muster::core
