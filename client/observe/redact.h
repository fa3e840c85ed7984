#ifndef MUSTER_CLIENT_OBSERVE_REDACT_H_
#define MUSTER_CLIENT_OBSERVE_REDACT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// What must not be in a bundle that is mailed around. Pure.
namespace muster::observe {

inline constexpr char kLeftOut[] = "(left out)";

// Of an environment, "NAME=value" each, what says how a job runs: NCCL_*, CUDA_*, MUSTER_*, OMP_*
// and the like, sorted. Of secrets the name alone.
std::vector<std::string> Fingerprint(const std::vector<std::string>& environment);

// A command line without the values of secrets: "--token=x", "--token x", "TOKEN=x", and what the
// rules for texts find in an argument.
std::vector<std::string> RedactArguments(const std::vector<std::string>& arguments);

// A text without what stands behind "token=", "--token", "Authorization:", "Bearer" and "Basic",
// and between "//" and "@" of an address. It cannot know what a program writes in its own words.
// Takes time in proportion to the text, whatever is in it.
std::string RedactText(absl::string_view text);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_REDACT_H_
