#include "client/src/job/split.h"

#include <algorithm>
#include <cstdint>

#include "muster/codec.h"

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

absl::StatusOr<ColorGroup> ColorGroupOf(const std::vector<std::string>& encoded, int own) {
  std::vector<Choice> choices;
  for (const std::string& bytes : encoded) {
    const absl::StatusOr<Choice> choice = Decode<Choice>(bytes);
    if (!choice.ok()) return choice.status();
    choices.push_back(*choice);
  }
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
