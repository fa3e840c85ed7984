#include "common/text/nearest_name.h"

#include <algorithm>

namespace muster {
namespace {

// Returns how many letters must be added, removed, changed or swapped with the next.
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

// Returns whether the lengths are close enough. Also avoids the table for very long words.
bool MayBeNear(const std::string& a, const std::string& b, size_t max_difference) {
  return std::max(a.size(), b.size()) - std::min(a.size(), b.size()) <= max_difference;
}

}  // namespace

std::string NearestName(const std::string& word, const std::vector<std::string>& known) {
  size_t best_distance = std::max<size_t>(1, word.size() / 3);
  std::string nearest;
  for (const std::string& candidate : known) {
    if (!MayBeNear(word, candidate, best_distance)) continue;
    const size_t distance = Distance(word, candidate);
    if (distance > best_distance || (distance == best_distance && !nearest.empty())) continue;
    best_distance = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace muster
