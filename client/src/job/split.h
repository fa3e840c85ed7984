#ifndef MUSTER_CLIENT_SRC_JOB_SPLIT_H_
#define MUSTER_CLIENT_SRC_JOB_SPLIT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

// Job::Split(): what the ranks tell each other, and what follows from it.
namespace muster::internal {

std::string EncodeColor(std::optional<int> color, int key);

// The group of a rank: those of its color, by their keys.
struct ColorGroup {
  std::optional<int> color;
  std::vector<int> ranks;  // none without a color
};

// `encoded` is what each rank has told, by rank, or why it has not.
absl::StatusOr<ColorGroup> ColorGroupOf(const absl::StatusOr<std::vector<std::string>>& encoded,
                                        int own);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_SPLIT_H_
