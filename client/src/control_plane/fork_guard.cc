#include "client/src/control_plane/fork_guard.h"

#include <unistd.h>

#include <atomic>

#include "absl/strings/str_cat.h"

namespace muster::internal {

absl::Status CheckNotForked() {
  static std::atomic<pid_t> first_user{0};
  const pid_t self = getpid();
  pid_t user = 0;
  if (first_user.compare_exchange_strong(user, self) || user == self) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("process ", self, " is a fork of process ", user,
                   ", which has used a coordinator; fork before the first Join(), or start a new "
                   "program with exec"));
}

}  // namespace muster::internal
