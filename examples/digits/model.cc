#include "examples/digits/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

namespace digits {
namespace {

constexpr double kInitialDeviation = 0.01;

using PerClass = std::array<double, kClasses>;

PerClass Scores(const Parameters& parameters, const Image& image) {
  PerClass scores;
  for (int k = 0; k < kClasses; ++k) {
    const auto weights = parameters.begin() + k * kParametersPerClass;
    const double bias = weights[kPixels];
    scores[k] = std::inner_product(image.pixels.begin(), image.pixels.end(), weights, bias);
  }
  return scores;
}

// Returns log(sum(exp(scores))). Takes out the largest score first, so that exp() does not
// overflow.
double LogSumExp(const PerClass& scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double score : scores) sum += std::exp(score - largest);
  return largest + std::log(sum);
}

}  // namespace

Parameters InitialParameters(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, kInitialDeviation);
  Parameters parameters(kParameters);
  for (double& parameter : parameters) parameter = normal(random);
  for (int k = 0; k < kClasses; ++k) parameters[k * kParametersPerClass + kPixels] = 0;
  return parameters;
}

double Loss(const Parameters& parameters, const Image& image) {
  const PerClass scores = Scores(parameters, image);
  return LogSumExp(scores) - scores[image.label];
}

void AddGradient(const Parameters& parameters, const Image& image, Parameters* gradient) {
  const PerClass scores = Scores(parameters, image);
  const double normalizer = LogSumExp(scores);
  for (int k = 0; k < kClasses; ++k) {
    const double error = std::exp(scores[k] - normalizer) - (k == image.label ? 1 : 0);
    const auto out = gradient->begin() + k * kParametersPerClass;
    for (int i = 0; i < kPixels; ++i) out[i] += error * image.pixels[i];
    out[kPixels] += error;
  }
}

int Predict(const Parameters& parameters, const Image& image) {
  const PerClass scores = Scores(parameters, image);
  return static_cast<int>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

}  // namespace digits
