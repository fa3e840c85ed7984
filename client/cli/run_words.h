#ifndef MUSTER_CLIENT_CLI_RUN_WORDS_H_
#define MUSTER_CLIENT_CLI_RUN_WORDS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

// Finds the program in the words of `muster run`, before its flags are parsed:
//
//   --nproc_per_node 2 ./train --epochs 3   ->   flags --nproc-per-node 2, program ./train --epochs
//   3
//
// Pure.
namespace muster::cli {

// The flags of a command, as they are written: "--job".
struct KnownFlags {
  std::set<std::string> with_value;
  std::set<std::string> without_value;
};

// Returns `word` with dashes for underscores if that makes it a known flag: "--node_rank=1" is
// "--node-rank=1". Returns every other word as it is.
std::string WithDashes(const std::string& word, const KnownFlags& known);

struct RunWords {
  std::vector<std::string> flags;    // known flags have dashes; a first unknown flag ends them
  std::vector<std::string> program;  // with its arguments
};

// Splits the words that follow `muster run`. The program is what follows "--"; without "--" it
// begins at the first word that is neither a flag nor a flag's value. INVALID_ARGUMENT if it could
// begin elsewhere: a later word is "--", or a flag of `muster run`.
absl::StatusOr<RunWords> SplitRunWords(const std::vector<std::string>& words,
                                       const KnownFlags& known);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_RUN_WORDS_H_
