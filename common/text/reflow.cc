#include "common/text/reflow.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster {
namespace {

bool Stays(absl::string_view line) { return line.empty() || line[0] == ' '; }

}  // namespace

std::string Reflow(absl::string_view text, size_t width) {
  std::vector<std::string> lines;
  bool goes_on = false;  // the last line may take more words
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (Stays(line)) lines.emplace_back(line);
    if (Stays(line)) goes_on = false;
    for (const absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
      if (Stays(line)) break;
      if (goes_on && lines.back().size() + 1 + word.size() <= width) {
        absl::StrAppend(&lines.back(), " ", word);
      } else {
        lines.emplace_back(word);
        goes_on = true;
      }
    }
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace muster
