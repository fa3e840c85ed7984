#ifndef MUSTER_CLIENT_CLI_FLAGS_HINTS_H_
#define MUSTER_CLIENT_CLI_FLAGS_HINTS_H_

#include <string>
#include <vector>

// Guesses what a user meant by an unknown word. No system calls.
namespace muster::cli {

// Returns "; did you mean run?", or "" if no command is similar.
std::string HintForCommand(const std::string& word, const std::vector<std::string>& commands);

// Returns a hint like the one above, or "". `word` may have a value, as in "--nproc_per_nod=4".
// Also knows torchrun's flags, and beginnings of flags such as "--nproc".
std::string HintForFlag(const std::string& word, const std::vector<std::string>& flags);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_FLAGS_HINTS_H_
