#ifndef MUSTER_COMMON_COMPLETION_H_
#define MUSTER_COMMON_COMPLETION_H_

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

// A script for `shell`, bash or zsh, that completes what `app` takes: its commands, their flags,
// and the names of files where a flag is followed by one. INVALID_ARGUMENT for another shell. Pure.
absl::StatusOr<std::string> CompletionScript(const CLI::App& app, absl::string_view shell);

}  // namespace muster

#endif  // MUSTER_COMMON_COMPLETION_H_
