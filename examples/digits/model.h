#ifndef MUSTER_EXAMPLES_DIGITS_MODEL_H_
#define MUSTER_EXAMPLES_DIGITS_MODEL_H_

#include <cstdint>
#include <vector>

#include "examples/digits/dataset.h"

namespace digits {

// The parameters of a softmax (multinomial logistic) regression. A digit's score is a weighted sum
// of the pixels plus a bias, and its probability is the softmax of the scores.
//
// All parameters are in one flat vector, so that one call reduces the gradients: for each class its
// kPixels weights, then its bias.
using Parameters = std::vector<double>;
inline constexpr int kParametersPerClass = kPixels + 1;
inline constexpr int kParameters = kClasses * kParametersPerClass;

// Returns small random weights, and biases of zero.
Parameters InitialParameters(uint64_t seed);

// Returns the cross-entropy of the image's label.
double Loss(const Parameters& parameters, const Image& image);

// Adds the gradient of Loss() to `gradient`, which has kParameters values.
void AddGradient(const Parameters& parameters, const Image& image, Parameters* gradient);

// Returns the most probable digit.
int Predict(const Parameters& parameters, const Image& image);

}  // namespace digits

#endif  // MUSTER_EXAMPLES_DIGITS_MODEL_H_
