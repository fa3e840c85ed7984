#include "examples/finetune/network.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "examples/digits/model.h"

namespace finetune {
namespace {

using digits::Image;
using digits::kParametersPerClass;
using digits::kPixels;

constexpr int kPretrainingEpochs = 20;
constexpr double kRate = 0.02;
constexpr double kInitialDeviation = 0.2;

// Moves the parameters a step along `gradient`.
void Descend(const std::vector<double>& gradient, std::vector<double>* parameters) {
  for (size_t i = 0; i < gradient.size(); ++i) (*parameters)[i] -= kRate * gradient[i];
}

// Returns the gradient of the body, from the gradient of the head on one image. The gradient of a
// digit's bias is the error of its score. It goes back along the digit's weights to the features
// that are not 0.
std::vector<double> BodyGradient(const digits::Parameters& head, const digits::Parameters& errors,
                                 const Image& image, const Image& features) {
  std::vector<double> gradient(kBodyParameters);
  for (int f = 0; f < kFeatures; ++f) {
    if (features.pixels[f] == 0) continue;
    double error = 0;
    for (int row = 0; row < digits::kParameters; row += kParametersPerClass) {
      error += errors[row + kFeatures] * head[row + f];
    }
    const auto out = gradient.begin() + f * kParametersPerClass;
    for (int i = 0; i < kPixels; ++i) out[i] = error * image.pixels[i];
    out[kPixels] = error;
  }
  return gradient;
}

void PretrainOn(const Image& image, Network* network) {
  const Image features = Features(network->body, image);
  digits::Parameters head_gradient(digits::kParameters);
  digits::AddGradient(network->head, features, &head_gradient);
  Descend(BodyGradient(network->head, head_gradient, image, features), &network->body);
  Descend(head_gradient, &network->head);
}

absl::Status CopyTensor(const muster::Tensors& tensors, const std::string& name,
                        std::vector<double>* out) {
  const auto tensor = tensors.find(name);
  if (tensor == tensors.end()) return absl::InvalidArgumentError(absl::StrCat("no tensor ", name));
  const absl::StatusOr<absl::Span<const double>> values = tensor->second.As<double>();
  if (!values.ok()) return values.status();
  if (values->size() != out->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tensor ", name, " is ", muster::DescribeTensor(tensor->second)));
  }
  out->assign(values->begin(), values->end());
  return absl::OkStatus();
}

}  // namespace

Image Features(const std::vector<double>& body, const Image& image) {
  Image features;
  features.label = image.label;
  for (int f = 0; f < kFeatures; ++f) {
    const auto weights = body.begin() + f * kParametersPerClass;
    const double sum =
        std::inner_product(image.pixels.begin(), image.pixels.end(), weights, weights[kPixels]);
    features.pixels[f] = std::max(sum, 0.0);
  }
  return features;
}

Network Pretrain(const std::vector<Image>& images) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, kInitialDeviation);
  Network network;
  network.labels = {0, 1, 2, 3, 4};
  network.head = digits::InitialParameters(1);
  for (double& weight : network.body) weight = normal(random);
  for (int epoch = 0; epoch < kPretrainingEpochs; ++epoch) {
    for (const Image& image : images) {
      if (image.label <= network.labels.back()) PretrainOn(image, &network);
    }
  }
  return network;
}

absl::Status Write(const muster::Workspace& workspace, const Network& network) {
  return workspace.Write(
      {nlohmann::json(network.labels).dump(),
       {{"body", muster::ViewOf(network.body, {kFeatures, digits::kParametersPerClass})},
        {"head", muster::ViewOf(network.head, {digits::kClasses, kFeatures + 1})}}});
}

absl::StatusOr<Network> Read(const muster::Workspace& workspace) {
  const absl::StatusOr<std::optional<muster::Configuration>> read = workspace.Read(0);
  if (!read.ok()) return read.status();
  if (!read->has_value()) return absl::NotFoundError("no network in " + workspace.path());
  Network network;
  absl::Status status = CopyTensor((*read)->tensors, "body", &network.body);
  status.Update(CopyTensor((*read)->tensors, "head", &network.head));
  if (!status.ok()) return status;
  for (const auto& label : nlohmann::json::parse((*read)->json)) {
    if (label.is_number_integer()) network.labels.push_back(label);
  }
  return network;
}

}  // namespace finetune
