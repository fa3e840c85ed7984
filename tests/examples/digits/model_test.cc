// Tests of the model: loss, gradient and prediction.
#include "examples/digits/model.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace digits {
namespace {

Image RandomImage(uint64_t seed) {
  std::mt19937_64 random(seed);
  Image image;
  for (double& pixel : image.pixels) pixel = std::uniform_real_distribution<>(0, 1)(random);
  image.label = static_cast<int>(seed % kClasses);
  return image;
}

// Returns parameters far from the flat start, so that every class has another gradient.
Parameters LargeParameters() {
  Parameters parameters = InitialParameters(5);
  for (double& parameter : parameters) parameter *= 50;
  return parameters;
}

TEST(Model, InitialParametersDependOnTheSeedAndHaveNoBias) {
  EXPECT_EQ(InitialParameters(1).size(), kParameters);
  EXPECT_EQ(InitialParameters(1), InitialParameters(1));
  EXPECT_NE(InitialParameters(1), InitialParameters(2));
  for (int k = 0; k < kClasses; ++k) {
    EXPECT_EQ(InitialParameters(1)[k * kParametersPerClass + kPixels], 0);
  }
}

TEST(Model, LossOfUniformScoresIsLogOfTheClasses) {
  EXPECT_NEAR(Loss(Parameters(kParameters), RandomImage(3)), std::log(kClasses), 1e-12);
}

TEST(Model, LossStaysFiniteWhereExpWouldOverflow) {
  Parameters parameters(kParameters);
  parameters[kPixels] = 1e5;  // the bias of digit 0
  EXPECT_NEAR(Loss(parameters, RandomImage(10)), 0, 1e-9);
  EXPECT_NEAR(Loss(parameters, RandomImage(3)), 1e5, 1e-6);
}

TEST(Model, GradientAgreesWithFiniteDifferences) {
  constexpr double kStep = 1e-6;
  const Parameters parameters = LargeParameters();
  const Image image = RandomImage(4);
  Parameters gradient(kParameters);
  AddGradient(parameters, image, &gradient);
  for (int i = 0; i < kParameters; ++i) {
    Parameters above = parameters, below = parameters;
    above[i] += kStep;
    below[i] -= kStep;
    const double slope = (Loss(above, image) - Loss(below, image)) / (2 * kStep);
    EXPECT_NEAR(gradient[i], slope, 1e-7) << "parameter " << i;
  }
}

TEST(Model, GradientIsAddedToWhatIsThere) {
  const Parameters parameters = LargeParameters();
  Parameters once(kParameters), twice(kParameters);
  AddGradient(parameters, RandomImage(1), &once);
  for (int i = 0; i < 2; ++i) AddGradient(parameters, RandomImage(1), &twice);
  for (int i = 0; i < kParameters; ++i) EXPECT_DOUBLE_EQ(twice[i], 2 * once[i]);
}

TEST(Model, PredictsTheClassOfTheHighestScore) {
  for (int k = 0; k < kClasses; ++k) {
    Parameters parameters(kParameters);
    parameters[k * kParametersPerClass + kPixels] = 1;
    EXPECT_EQ(Predict(parameters, RandomImage(1)), k);
  }
}

}  // namespace
}  // namespace digits
