#ifndef MUSTER_COMMON_COMPLETION_H_
#define MUSTER_COMMON_COMPLETION_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

// Words that may stand for a value and are no names of files.
struct CompletedValue {
  std::string command;             // empty: of the program itself
  std::string flag;                // "--job"; empty: what the command takes without a flag
  std::vector<std::string> words;  // those that are always the same
  std::string printed_by;          // a shell command that prints more, a line each; empty: none
};

// Returns a script for `shell`, bash or zsh, that completes what `app` takes: its commands, their
// flags, `values`, the names of files where a flag is followed by one, and programs behind `run`.
// INVALID_ARGUMENT for another shell. Pure.
absl::StatusOr<std::string> CompletionScript(const CLI::App& app, absl::string_view shell,
                                             const std::vector<CompletedValue>& values = {});

}  // namespace muster

#endif  // MUSTER_COMMON_COMPLETION_H_
