#ifndef MUSTER_COMMON_PROCESS_KNOWN_VARIABLES_H_
#define MUSTER_COMMON_PROCESS_KNOWN_VARIABLES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// The environment variables that Muster reads. Muster warns of unknown names, because a misspelt
// one has no other sign: with MUSTER_COORDINATR every process is a job of its own.
// docs/environment.md explains each variable.
namespace muster {

// Returns the names, sorted. A test compares them with docs/environment.md and with the flags.
const std::vector<std::string>& KnownVariables();

// Returns true for known variables, for names outside MUSTER_, and for names that others set:
// MUSTER_TEST_..., and the variables that Kubernetes derives from a Service whose name begins with
// "muster".
bool IsKnownVariable(absl::string_view name, absl::string_view value);

// Returns a warning for each unknown variable in `environment` ("NAME=value"), with the nearest
// known name.
std::vector<std::string> UnknownVariableWarnings(const std::vector<std::string>& environment);

// As above, for this process's environment.
std::vector<std::string> UnknownVariableWarnings();

}  // namespace muster

#endif  // MUSTER_COMMON_PROCESS_KNOWN_VARIABLES_H_
