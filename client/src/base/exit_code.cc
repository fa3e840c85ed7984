#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/src/base/exit_code_note.h"
#include "common/process/exit_codes.h"
#include "common/process/termination_log.h"

namespace muster {
namespace {

constexpr char kPayload[] = "muster/exit-code";

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
  const absl::optional<absl::Cord> noted = status.GetPayload(kPayload);
  int code = 0;
  if (noted && absl::SimpleAtoi(std::string(*noted), &code)) return code;
  return CodeOf(status.code());
}

void WriteTerminationReason(absl::string_view reason) { WriteTerminationLog(reason); }

namespace internal {

absl::Status WithExitCode(absl::Status status, int code) {
  if (!status.ok() && !status.GetPayload(kPayload)) {
    status.SetPayload(kPayload, absl::Cord(absl::StrCat(code)));
  }
  return status;
}

absl::Status Reworded(const absl::Status& status, absl::string_view text) {
  absl::Status other(status.code(), text);
  status.ForEachPayload([&other](absl::string_view type, const absl::Cord& payload) {
    other.SetPayload(type, payload);
  });
  return other;
}

}  // namespace internal
}  // namespace muster
