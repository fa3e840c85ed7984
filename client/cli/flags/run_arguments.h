#ifndef MUSTER_CLIENT_CLI_FLAGS_RUN_ARGUMENTS_H_
#define MUSTER_CLIENT_CLI_FLAGS_RUN_ARGUMENTS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

// Finds the program in the words of `muster run`, before its flags are parsed. No system calls.
//
//   --nproc_per_node 2 ./train --epochs 3
//   flags: --nproc-per-node 2; program: ./train --epochs 3
namespace muster::cli {

// The flags of a command, spelled like "--job".
struct KnownFlags {
  std::set<std::string> with_value;
  std::set<std::string> without_value;
};

// Returns `word` with dashes for underscores if that makes it a known flag, so "--node_rank=1"
// becomes "--node-rank=1". Returns other words unchanged.
std::string WithDashes(const std::string& word, const KnownFlags& known);

struct RunArguments {
  std::vector<std::string> flags;    // known flags have dashes; stops after the first unknown flag
  std::vector<std::string> program;  // and its arguments
};

// Splits the words that follow `muster run`. The program is everything after "--". Without "--", it
// begins at the first word that is neither a flag nor a flag's value. Returns INVALID_ARGUMENT if
// it could begin elsewhere, because a later word is "--" or a flag of `muster run`.
absl::StatusOr<RunArguments> SplitRunArguments(const std::vector<std::string>& words,
                                               const KnownFlags& known);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_FLAGS_RUN_ARGUMENTS_H_
