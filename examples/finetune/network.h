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

// A network of two layers. The body turns an image into features, as many as it has pixels; the
// head, softmax regression, tells the digit by them. Both are laid out as digits::Parameters, with
// a row for each feature, or for each digit.
struct Network {
  std::vector<int> labels;  // the digits that it has been trained on
  std::vector<double> body = std::vector<double>(kBodyParameters);
  digits::Parameters head = digits::Parameters(digits::kParameters);
};

// What the body makes of an image: an image of its features, with the same label.
digits::Image Features(const std::vector<double>& body, const digits::Image& image);

// Stands for what others have done on larger data: trains both layers, on one process, on the
// images of the digits 0 to 4 alone.
Network Pretrain(const std::vector<digits::Image>& images);

// The network in a workspace is rank 0's. Read: NOT_FOUND if there is none, INVALID_ARGUMENT if it
// is of another shape.
absl::Status Write(const muster::Workspace& workspace, const Network& network);
absl::StatusOr<Network> Read(const muster::Workspace& workspace);

}  // namespace finetune

#endif  // MUSTER_EXAMPLES_FINETUNE_NETWORK_H_
