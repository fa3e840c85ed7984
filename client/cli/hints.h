#ifndef MUSTER_CLIENT_CLI_HINTS_H_
#define MUSTER_CLIENT_CLI_HINTS_H_

#include <string>
#include <vector>

// What a user may have meant by a word that means nothing here. Pure.
namespace muster::cli {

// "; did you mean run?"; empty where no command is near.
std::string HintForCommand(const std::string& word, const std::vector<std::string>& commands);

// `word` may have a value: "--nproc_per_nod=4". Knows torchrun's flags, too, and the beginnings of
// flags: "--nproc".
std::string HintForFlag(const std::string& word, const std::vector<std::string>& flags);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_HINTS_H_
