#ifndef MUSTER_EXAMPLES_DIGITS_MODEL_H_
#define MUSTER_EXAMPLES_DIGITS_MODEL_H_

#include <cstdint>
#include <vector>

#include "examples/digits/dataset.h"

namespace digits {

// Softmax (multinomial logistic) regression: a digit's score is a weighted sum of the pixels plus a
// bias, and its probability is the softmax of the scores.
//
// All parameters in one flat vector, so that gradients can be reduced in one call: for each class
// its kPixels weights, then its bias.
using Parameters = std::vector<double>;
inline constexpr int kParametersPerClass = kPixels + 1;
inline constexpr int kParameters = kClasses * kParametersPerClass;

// Small random weights, zero biases.
Parameters InitialParameters(uint64_t seed);

// The cross-entropy of the image's label.
double Loss(const Parameters& parameters, const Image& image);

// Adds the gradient of Loss() to `gradient`, which holds kParameters values.
void AddGradient(const Parameters& parameters, const Image& image, Parameters* gradient);

// The most probable digit.
int Predict(const Parameters& parameters, const Image& image);

}  // namespace digits

#endif  // MUSTER_EXAMPLES_DIGITS_MODEL_H_
