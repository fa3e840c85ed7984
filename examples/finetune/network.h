#ifndef MUSTER_EXAMPLES_FINETUNE_NETWORK_H_
#define MUSTER_EXAMPLES_FINETUNE_NETWORK_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/digits/dataset.h"
#include "examples/digits/model.h"
#include "muster/workspace.h"

namespace finetune {

inline constexpr int kFeatures = digits::kPixels;
inline constexpr int kBodyParameters = kFeatures * digits::kParametersPerClass;

// A network of two layers. The body turns an image into as many features as it has pixels. The
// head, a softmax regression, classifies the features. Both are laid out as digits::Parameters,
// with a row for each feature or for each digit.
struct Network {
  std::vector<int> labels;  // the digits that it was trained on
  std::vector<double> body = std::vector<double>(kBodyParameters);
  digits::Parameters head = digits::Parameters(digits::kParameters);
};

// Returns the features that the body computes from an image, as an image with the same label.
digits::Image Features(const std::vector<double>& body, const digits::Image& image);

// Trains both layers, in one process, on the images of the digits 0 to 4 only. Stands for a network
// that others have trained on larger data.
Network Pretrain(const std::vector<digits::Image>& images);

// Write and read the network in a workspace, as rank 0's part. Read() returns NOT_FOUND if there is
// none, and INVALID_ARGUMENT if it has another shape.
absl::Status Write(const muster::Workspace& workspace, const Network& network);
absl::StatusOr<Network> Read(const muster::Workspace& workspace);

}  // namespace finetune

#endif  // MUSTER_EXAMPLES_FINETUNE_NETWORK_H_
