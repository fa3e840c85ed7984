#include "client/src/base/deadline.h"

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"

namespace muster::internal {

absl::Status Deadline::RunPart(absl::FunctionRef<absl::Status(absl::Duration left)> part) const {
  const absl::Duration left = LeftForPart();
  return NameWhole(part(left), left);
}

absl::Status Deadline::NameWhole(const absl::Status& part, absl::Duration left) const {
  if (!absl::IsDeadlineExceeded(part) || left >= timeout_) return part;
  return Reworded(part,
                  absl::StrCat(part.message(), " (", absl::FormatDuration(left),
                               " were left of the call's ", absl::FormatDuration(timeout_), ")"));
}

}  // namespace muster::internal
