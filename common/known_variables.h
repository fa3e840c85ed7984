#ifndef MUSTER_COMMON_KNOWN_VARIABLES_H_
#define MUSTER_COMMON_KNOWN_VARIABLES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// The environment variables that Muster reads. A misspelt one is silent otherwise: with
// MUSTER_COORDINATR every process is a job of its own. docs/environment.md has what each means.
namespace muster {

// Returns the names, sorted. A test compares them with docs/environment.md and with the flags.
const std::vector<std::string>& KnownVariables();

// Returns true for known variables, for names outside of MUSTER_, and for those that others set:
// MUSTER_TEST_..., and what Kubernetes says of a Service whose name begins with "muster".
bool IsKnownVariable(absl::string_view name, absl::string_view value);

// Returns a line for each unknown variable in `environment` ("NAME=value"), with the known name
// that is nearest. Empty where all are known.
std::vector<std::string> UnknownVariableWarnings(const std::vector<std::string>& environment);

// The same of this process's environment.
std::vector<std::string> UnknownVariableWarnings();

}  // namespace muster

#endif  // MUSTER_COMMON_KNOWN_VARIABLES_H_
