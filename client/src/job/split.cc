#include "client/src/job/split.h"

#include <algorithm>
#include <cstdint>

#include "muster/group.h"

namespace muster::internal {
namespace {

struct Choice {
  int32_t has_color;
  int32_t color;
  int32_t key;
};

}  // namespace

std::string EncodeColor(std::optional<int> color, int key) {
  return Encode(Choice{color.has_value(), color.value_or(0), key});
}

absl::StatusOr<ColorGroup> ColorGroupOf(const absl::StatusOr<std::vector<std::string>>& encoded,
                                        int own) {
  const absl::StatusOr<std::vector<Choice>> decoded = DecodeAll<Choice>(encoded);
  if (!decoded.ok()) return decoded.status();
  const std::vector<Choice>& choices = *decoded;
  const Choice& mine = choices[own];
  if (!mine.has_color) return ColorGroup();
  ColorGroup group{mine.color, {}};
  for (size_t rank = 0; rank < choices.size(); ++rank) {
    const Choice& choice = choices[rank];
    if (choice.has_color && choice.color == mine.color)
      group.ranks.push_back(static_cast<int>(rank));
  }
  std::stable_sort(group.ranks.begin(), group.ranks.end(),
                   [&](int a, int b) { return choices[a].key < choices[b].key; });
  return group;
}

}  // namespace muster::internal
