#include "client/cli/flags/hints.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/text/nearest_name.h"

namespace muster::cli {
namespace {

constexpr char kNoRendezvousHint[] =
    "; leave it out: ranks meet at the coordinator (--coordinator HOST:PORT)";
constexpr char kCoordinatorHint[] =
    "; did you mean --coordinator HOST:PORT, where musterd listens?";

// Returns the hint for a flag of torchrun that differs in more than underscores.
const char* TorchrunHint(const std::string& flag) {
  static const auto& hints = *new std::map<std::string, const char*>{
      {"--standalone",
       "; leave it out: without --coordinator, muster run starts a coordinator of its own"},
      {"--master-addr", kCoordinatorHint},
      {"--rdzv-endpoint", kCoordinatorHint},
      {"--rdzv-id", "; did you mean --job?"},
      {"--rdzv-backend", kNoRendezvousHint},
      {"--rdzv-conf", kNoRendezvousHint},
      {"--module", "; put the program after --: python3 -m MODULE"},
      {"-m", "; put the program after --: python3 -m MODULE"},
      {"--no-python", "; leave it out: what follows -- is executed as it is"},
      {"--run-path", "; put the program after --: python3 FILE"},
      {"--start-method", "; leave it out: the program is executed"},
      {"--monitor-interval", "; leave it out: the launcher learns at once how a rank ends"},
      {"--role", "; leave it out: all ranks of a job are of one kind"},
      {"-r", "; did you mean --log-dir?"},
      {"-t", "; did you mean --log-dir? It shows the output, too"},
      {"--redirects", "; did you mean --log-dir?"},
      {"--tee", "; did you mean --log-dir? It shows the output, too"},
      {"-np", "; did you mean --nproc-per-node?"},
      {"-n", "; did you mean --nproc-per-node?"}};
  const auto found = hints.find(flag);
  return found == hints.end() ? nullptr : found->second;
}

// Returns the names that begin with the word, such as --nproc-per-node for "--nproc".
std::vector<std::string> FlagsWithPrefix(const std::string& word,
                                         const std::vector<std::string>& known) {
  constexpr size_t kShortest = 4;  // "--n" would match too many
  std::vector<std::string> matches;
  for (const std::string& candidate : known) {
    if (word.size() >= kShortest && absl::StartsWith(candidate, word)) matches.push_back(candidate);
  }
  return matches;
}

std::string DidYouMean(const std::string& suggestion) {
  return suggestion.empty() ? "" : absl::StrCat("; did you mean ", suggestion, "?");
}

}  // namespace

std::string HintForCommand(const std::string& word, const std::vector<std::string>& commands) {
  return DidYouMean(NearestName(word, commands));
}

std::string HintForFlag(const std::string& word, const std::vector<std::string>& flags) {
  const std::string flag = absl::StrReplaceAll(word.substr(0, word.find('=')), {{"_", "-"}});
  if (std::find(flags.begin(), flags.end(), flag) != flags.end()) return DidYouMean(flag);
  if (const char* known = TorchrunHint(flag)) return known;
  const std::vector<std::string> matches = FlagsWithPrefix(flag, flags);
  return DidYouMean(matches.empty() ? NearestName(flag, flags) : absl::StrJoin(matches, " or "));
}

}  // namespace muster::cli
