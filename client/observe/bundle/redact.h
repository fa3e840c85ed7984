#ifndef MUSTER_CLIENT_OBSERVE_BUNDLE_REDACT_H_
#define MUSTER_CLIENT_OBSERVE_BUNDLE_REDACT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// Removes secrets from the texts of a bundle, which users send around. No system calls.
namespace muster::observe {

inline constexpr char kLeftOut[] = "(left out)";

// Returns the variables of an environment ("NAME=value") that say how a job runs: NCCL_*, CUDA_*,
// MUSTER_*, OMP_* and similar ones, sorted. Of secrets, returns only the name.
std::vector<std::string> Fingerprint(const std::vector<std::string>& environment);

// Returns a command line without the values of secrets: "--token=x", "--token x", "TOKEN=x", and
// everything that RedactText() finds in an argument.
std::vector<std::string> RedactArguments(const std::vector<std::string>& arguments);

// Returns a text without the words after "token=", "--token", "Authorization:", "Bearer" and
// "Basic", and without the part of a URL between "//" and "@". Cannot recognize secrets in a
// program's own wording. Takes linear time for any text.
std::string RedactText(absl::string_view text);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_BUNDLE_REDACT_H_
