#ifndef MUSTER_CLIENT_OBSERVE_HELPER_PROGRAM_H_
#define MUSTER_CLIENT_OBSERVE_HELPER_PROGRAM_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::observe {

// Returns the path of a program in PATH, or "" if there is none.
std::string FindInPath(const std::string& program);

struct HelperOutput {
  std::string text;
  bool killed = false;  // when the time was over
};

// Runs a program from PATH in its own process group, without standard input. Returns its standard
// output and error, cut at `max_bytes`. Blocks for at most `timeout`; then kills the group and adds
// a line that says so to the output. Returns NOT_FOUND if there is no such program. Other code that
// reaps all children of this process may reap this one; that is harmless.
absl::StatusOr<HelperOutput> RunHelper(const std::vector<std::string>& command,
                                       absl::Duration timeout, size_t max_bytes);

// Returns whether RunHelper() of this process runs `pid` now, or `pid` is in the process group of
// such a program.
bool IsHelper(pid_t pid);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_HELPER_PROGRAM_H_
