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

// The packed file that Bazel lays beside the program; else the one of the source tree, if the
// program runs there.
std::string DefaultDataFile();

// Reads images from a CSV file: 64 pixels (0 to 16) and a label (0 to 9) a line. INVALID_ARGUMENT
// names the first malformed line and what is wrong with it. Errors call the file `name`, which may
// differ from `path` where the file was unpacked first.
absl::StatusOr<std::vector<Image>> ReadImages(const std::string& path, const std::string& name);

// Deals the images into a training and a held-out part, always in the same way. At least
// kHeldOutOneIn images.
Dataset Split(std::vector<Image> images);

}  // namespace digits

#endif  // MUSTER_EXAMPLES_DIGITS_DATASET_H_
