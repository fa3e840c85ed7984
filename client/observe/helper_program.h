#ifndef MUSTER_CLIENT_OBSERVE_HELPER_PROGRAM_H_
#define MUSTER_CLIENT_OBSERVE_HELPER_PROGRAM_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::observe {

// Where PATH has the program; empty: nowhere.
std::string FindInPath(const std::string& program);

struct HelperOutput {
  std::string text;
  bool killed = false;  // at its time-out
};

// Runs a program, found in PATH, in a process group of its own and without standard input; returns
// what it has written to standard output and error, of which the rest beyond `max_bytes` is left
// out. Blocks for `timeout` at most, at the end of which the group is killed: then what it had
// written, and a line that says so. NOT_FOUND: there is no such program. Who waits for all children
// of this process may reap it.
absl::StatusOr<HelperOutput> RunHelper(const std::vector<std::string>& command,
                                       absl::Duration timeout, size_t max_bytes);

// Whether this process runs it, by RunHelper(), at this moment, or it has been started by what
// this process runs so.
bool IsHelper(pid_t pid);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_HELPER_PROGRAM_H_
