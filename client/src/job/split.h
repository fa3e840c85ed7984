#ifndef MUSTER_CLIENT_SRC_JOB_SPLIT_H_
#define MUSTER_CLIENT_SRC_JOB_SPLIT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

// Job::Split(): encodes each rank's color and key, and computes the groups.
namespace muster::internal {

std::string EncodeColor(std::optional<int> color, int key);

// The group of one rank: the ranks of its color, ordered by their keys.
struct ColorGroup {
  std::optional<int> color;
  std::vector<int> ranks;  // empty without a color
};

// Returns the group of rank `own`. `encoded` has what each rank sent, by rank, or an error.
absl::StatusOr<ColorGroup> ColorGroupOf(const absl::StatusOr<std::vector<std::string>>& encoded,
                                        int own);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_SPLIT_H_
