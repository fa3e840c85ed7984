#ifndef MUSTER_EXAMPLES_DIGITS_DATASET_H_
#define MUSTER_EXAMPLES_DIGITS_DATASET_H_

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace digits {

inline constexpr int kPixels = 64;  // 8x8
inline constexpr int kMaxIntensity = 16;
inline constexpr int kClasses = 10;
// One image in this many is held out of training.
inline constexpr int kHeldOutOneIn = 5;

struct Image {
  std::array<double, kPixels> pixels;  // scaled to [0, 1]
  int label = 0;
};

struct Dataset {
  std::vector<Image> training;
  std::vector<Image> held_out;
};

// Returns the packed file that Bazel puts beside the program, else the file of the source tree, if
// the program runs there.
std::string DefaultDataFile();

// Reads images from a CSV file with 64 pixels (0 to 16) and a label (0 to 9) in each line.
// INVALID_ARGUMENT names the first malformed line and its mistake. Errors use `name` for the file,
// since `path` may be an unpacked copy.
absl::StatusOr<std::vector<Image>> ReadImages(const std::string& path, const std::string& name);

// Divides the images into a training part and a held-out part, always in the same way. Needs at
// least kHeldOutOneIn images.
Dataset Split(std::vector<Image> images);

}  // namespace digits

#endif  // MUSTER_EXAMPLES_DIGITS_DATASET_H_
