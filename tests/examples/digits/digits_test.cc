// Tests of the program in one process, without a coordinator.

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "examples/digits/dataset.h"
#include "examples/digits/model.h"
#include "examples/digits/unpack.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/examples/digits/run_digits.h"
#include "tests/examples/digits/temp_file.h"

namespace digits {
namespace {

using ::muster::testing::Exit;
using ::muster::testing::ReadFile;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr Exit kSuccess = {false, 0};
constexpr Exit kFailure = {false, 1};
constexpr Exit kUsageError = {false, 64};

Curve CurveAlone(const std::vector<std::string>& flags) { return RunForCurve(CommandAlone(flags)); }

std::string UnpackedData() {
  const std::string path = TempFile("digits.csv", "");
  EXPECT_TRUE(Gunzip(DataPath(), path).ok());
  return path;
}

Parameters ReadParameters(const std::string& path) {
  Parameters parameters;
  for (absl::string_view value : absl::StrSplit(ReadFile(path), absl::ByAnyChar(",\n"))) {
    double parameter = 0;
    if (absl::SimpleAtod(value, &parameter)) parameters.push_back(parameter);
  }
  return parameters;
}

double AccuracyOf(const Parameters& parameters) {
  const absl::StatusOr<std::vector<Image>> images = ReadImages(UnpackedData(), "digits.csv");
  EXPECT_TRUE(images.ok()) << images.status();
  const std::vector<Image> held_out = Split(*images).held_out;
  int correct = 0;
  for (const Image& image : held_out) correct += Predict(parameters, image) == image.label;
  return static_cast<double>(correct) / held_out.size();
}

TEST(Digits, LearnsToReadDigits) {
  const Curve curve = CurveAlone({});
  EXPECT_EQ(curve.losses.size(), 40);
  EXPECT_GT(curve.final_accuracy, 0.95);
  EXPECT_LT(curve.losses.back(), 0.2);
  EXPECT_LT(curve.losses.back(), curve.losses.front() / 2);
}

TEST(Digits, LearnsWithOtherSeedsToo) {
  for (const char* seed : {"2", "3", "18446744073709551615"}) {
    EXPECT_GT(CurveAlone({"--seed", seed}).final_accuracy, 0.93) << "seed " << seed;
  }
}

TEST(Digits, ShowsProgressAndEndsWithTheResultInTwelveDigits) {
  const Ended run = RunAlone({"--epochs", "3"});
  EXPECT_EQ(run.exit, kSuccess) << run.output;
  EXPECT_THAT(
      LinesWith("images/s", run.output),
      testing::ElementsAre(MatchesRegex("epoch +1  loss .* held-out accuracy 0\\.[0-9]+ .*"),
                           MatchesRegex("epoch +2  .*"), MatchesRegex("epoch +3  .*")));
  EXPECT_THAT(run.output, ContainsRegex("\nfinal loss=0\\.[0-9]{12,} accuracy=0\\.[0-9]{12,}\n$"));
}

TEST(Digits, JsonHoldsTheCurveThatTheFinalLineEnds) {
  const Curve curve = CurveAlone({"--epochs", "2"});
  ASSERT_EQ(curve.losses.size(), 2);
  EXPECT_NEAR(curve.losses.back(), curve.final_loss, 1e-11);
  EXPECT_NEAR(curve.accuracies.back(), curve.final_accuracy, 1e-11);
}

TEST(Digits, TheSeedDeterminesTheCurve) {
  const Curve curve = CurveAlone({"--epochs", "2", "--seed", "5"});
  EXPECT_EQ(curve.losses, CurveAlone({"--epochs", "2", "--seed", "5"}).losses);
  EXPECT_NE(curve.losses, CurveAlone({"--epochs", "2", "--seed", "6"}).losses);
}

TEST(Digits, TakesPlainCsvToo) {
  const Ended packed = RunAlone({"--epochs", "1"});
  const Ended plain = RunAlone({"--epochs", "1", "--data", UnpackedData()});
  EXPECT_EQ(LinesWith("final", plain.output), LinesWith("final", packed.output));
}

TEST(Digits, SavedWeightsHaveTheAccuracyThatWasPrinted) {
  const std::string weights = TempFile("weights.csv", "");
  const Curve curve = CurveAlone({"--epochs", "3", "--save", weights});
  const Parameters parameters = ReadParameters(weights);
  ASSERT_EQ(parameters.size(), kParameters);
  EXPECT_NEAR(AccuracyOf(parameters), curve.final_accuracy, 1e-11);
}

TEST(Digits, TakesABatchOfOneAndOneLargerThanTheDataSet) {
  EXPECT_EQ(CurveAlone({"--epochs", "1", "--batch", "1", "--lr", "0.01"}).losses.size(), 1);
  EXPECT_EQ(CurveAlone({"--epochs", "1", "--batch", "1000000"}).losses.size(), 1);
}

TEST(Digits, ReportsAMalformedLineOnce) {
  const std::string data = TempFile("bad.csv", Line(1, 1) + Line(2, 2) + Line(3, 33) + Line(4, 4));
  const Ended run = RunAlone({"--data", data});
  EXPECT_EQ(run.exit, kFailure);
  EXPECT_EQ(run.output, absl::StrCat("digits: ", data,
                                     ":3: the label is '33', expected an integer from 0 to 9\n"));
}

TEST(Digits, SaysThatADataFileIsMissing) {
  for (const std::string name : {"/nonexistent.csv", "/nonexistent.csv.gz"}) {
    const Ended run = RunAlone({"--data", name});
    EXPECT_EQ(run.exit, kFailure);
    EXPECT_EQ(run.output,
              absl::StrCat("digits: cannot open ", name, ": No such file or directory\n"));
  }
}

TEST(Digits, SaysWhereItCannotWrite) {
  for (const std::string flag : {"--json", "--save"}) {
    const Ended run = RunAlone({"--epochs", "1", flag, "/nonexistent/file"});
    EXPECT_EQ(run.exit, kFailure);
    EXPECT_THAT(run.output, HasSubstr("digits: cannot write /nonexistent/file: No such file"));
    EXPECT_TRUE(LinesWith("final loss", run.output).empty());
  }
}

TEST(Digits, RefusesBadFlagsByName) {
  const std::vector<std::vector<std::string>> bad = {
      {"--epochs", "0"},
      {"--epochs", "ten"},
      {"--epochs", "99999999999999999999"},
      {"--batch", "-4"},
      {"--batch", "2.5"},
      {"--lr", "0"},
      {"--lr", "nan"},
      {"--lr", "1e9"},
      {"--seed", "-1"},
      {"--seed", "99999999999999999999"},
      {"--data"},
      {"--unknown"},
      {"--epochs", ""},
  };
  for (const std::vector<std::string>& flags : bad) {
    const Ended run = RunAlone(flags);
    EXPECT_EQ(run.exit, kUsageError) << flags[0] << "\n" << run.output;
    EXPECT_THAT(run.output, HasSubstr(flags[0]));
  }
}

TEST(Digits, HelpNamesEveryFlag) {
  const Ended run = RunAlone({"--help"});
  EXPECT_EQ(run.exit, kSuccess);
  for (const char* flag :
       {"--epochs", "--seed", "--batch", "--lr", "--data", "--backend", "--json", "--save"}) {
    EXPECT_THAT(run.output, HasSubstr(flag));
  }
}

}  // namespace
}  // namespace digits
