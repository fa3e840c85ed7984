#include "muster/exit_code.h"

#include "client/src/base/error_note.h"
#include "common/process/exit_codes.h"
#include "common/process/termination_log.h"

namespace muster {
namespace {

static_assert(kExitBadConfiguration == exit_codes::kBadConfiguration);
static_assert(kExitPeerLost == exit_codes::kPeerLost);
static_assert(kExitCoordinatorLost == exit_codes::kCoordinatorLost);
static_assert(kExitUnhealthyNode == exit_codes::kUnhealthyNode);

int CodeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kUnavailable:
      return kExitPeerLost;
    case absl::StatusCode::kInvalidArgument:
      return kExitBadConfiguration;
    default:
      return exit_codes::kFailed;
  }
}

}  // namespace

int ExitCode(const absl::Status& status) {
  return internal::NoteOf(status).exit_code.value_or(CodeOf(status.code()));
}

void WriteTerminationReason(absl::string_view reason) { WriteTerminationLog(reason); }

}  // namespace muster
