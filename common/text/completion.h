#ifndef MUSTER_COMMON_TEXT_COMPLETION_H_
#define MUSTER_COMMON_TEXT_COMPLETION_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

// The words that complete a value which is not a file name.
struct ValueCompletion {
  std::string command;             // empty for the program itself
  std::string flag;                // "--job"; empty for the command's positional argument
  std::vector<std::string> words;  // words that never change
  std::string printed_by;          // a shell command that prints more words, a line each
};

// Returns a script for `shell`, bash or zsh, that completes the command line of `app`. It offers
// commands, flags, `values`, file names after flags that take a file, and programs after `run`.
// INVALID_ARGUMENT for another shell. Pure.
absl::StatusOr<std::string> CompletionScript(const CLI::App& app, absl::string_view shell,
                                             const std::vector<ValueCompletion>& values = {});

}  // namespace muster

#endif  // MUSTER_COMMON_TEXT_COMPLETION_H_
