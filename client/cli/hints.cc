#include "client/cli/hints.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace muster::cli {
namespace {

constexpr char kNoRendezvous[] =
    "; leave it out: ranks meet at the coordinator (--coordinator HOST:PORT)";
constexpr char kAddress[] = "; did you mean --coordinator HOST:PORT, where musterd listens?";

// torchrun's, where underscores are not all that differs.
const char* OfTorchrun(const std::string& flag) {
  static const auto& hints = *new std::map<std::string, const char*>{
      {"--standalone",
       "; leave it out: without --coordinator, muster run starts a coordinator of its own"},
      {"--master-addr", kAddress},
      {"--rdzv-endpoint", kAddress},
      {"--rdzv-id", "; did you mean --job?"},
      {"--rdzv-backend", kNoRendezvous},
      {"--rdzv-conf", kNoRendezvous},
      {"--module", "; put the program after --: python3 -m MODULE"},
      {"-m", "; put the program after --: python3 -m MODULE"},
      {"--no-python", "; leave it out: what follows -- is executed as it is"},
      {"--redirects", "; did you mean --log-dir?"},
      {"--tee", "; did you mean --log-dir? It shows the output, too"},
      {"-np", "; did you mean --nproc-per-node?"},
      {"-n", "; did you mean --nproc-per-node?"}};
  const auto found = hints.find(flag);
  return found == hints.end() ? nullptr : found->second;
}

// How many letters must be added, taken away, changed or swapped with the next.
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const size_t changed = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, changed});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// One letter in three may be wrong, and the nearest counts.
std::string Nearest(const std::string& word, const std::vector<std::string>& known) {
  size_t least = std::max<size_t>(1, word.size() / 3);
  std::string nearest;
  for (const std::string& candidate : known) {
    const size_t distance = Distance(word, candidate);
    if (distance > least || (distance == least && !nearest.empty())) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(const std::string& meant) {
  return meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?");
}

}  // namespace

std::string HintForCommand(const std::string& word, const std::vector<std::string>& commands) {
  return DidYouMean(Nearest(word, commands));
}

std::string HintForFlag(const std::string& word, const std::vector<std::string>& flags) {
  const std::string flag = absl::StrReplaceAll(word.substr(0, word.find('=')), {{"_", "-"}});
  if (std::find(flags.begin(), flags.end(), flag) != flags.end()) return DidYouMean(flag);
  if (const char* known = OfTorchrun(flag)) return known;
  return DidYouMean(Nearest(flag, flags));
}

}  // namespace muster::cli
