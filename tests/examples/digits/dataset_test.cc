// Tests of reading the data set, and of the errors for malformed files.
#include "examples/digits/dataset.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/examples/digits/temp_file.h"

namespace digits {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Returns five lines, the fewest that can be split.
std::string FiveLines() {
  return absl::StrCat(Line(0, 0), Line(4, 1), Line(8, 2), Line(12, 3), Line(16, 9));
}

absl::StatusOr<std::vector<Image>> Read(const std::string& contents) {
  return ReadImages(TempFile("test.csv", contents), "digits.csv");
}

std::string ErrorOf(const std::string& contents) {
  const absl::StatusOr<std::vector<Image>> images = Read(contents);
  EXPECT_EQ(images.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(images.status().message());
}

TEST(ReadImages, ScalesPixelsAndKeepsLabels) {
  const absl::StatusOr<std::vector<Image>> images = Read(FiveLines());
  ASSERT_TRUE(images.ok()) << images.status();
  ASSERT_EQ(images->size(), 5);
  EXPECT_EQ((*images)[0].pixels[0], 0);
  EXPECT_EQ((*images)[1].pixels[63], 0.25);
  EXPECT_EQ((*images)[4].pixels[7], 1);
  EXPECT_EQ((*images)[4].label, 9);
}

TEST(ReadImages, TakesWindowsLineEndsSpacesQuotesAndAMissingLastLineEnd) {
  std::string contents = absl::StrReplaceAll(FiveLines(), {{"\n", "\r\n"}, {"16,", " \"16\" ,"}});
  contents.resize(contents.size() - 2);
  const absl::StatusOr<std::vector<Image>> images = Read(contents);
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_EQ((*images)[4].pixels[63], 1);
}

TEST(ReadImages, NamesFileLineAndCountWhenColumnsAreMissingOrTooMany) {
  EXPECT_EQ(ErrorOf(FiveLines() + "1,2,3\n"),
            "digits.csv:6: 3 values, expected 65: 64 pixels and a label");
  EXPECT_THAT(ErrorOf("0," + FiveLines()), StartsWith("digits.csv:1: 66 values"));
  EXPECT_THAT(ErrorOf(Line(1, 1) + "\n" + FiveLines()), StartsWith("digits.csv:2: 0 values"));
}

TEST(ReadImages, NamesThePixelThatIsOutOfRange) {
  EXPECT_EQ(ErrorOf(Line(1, 1) + "17" + Line(1, 1).substr(1) + FiveLines()),
            "digits.csv:2: pixel 1 is '17', expected an integer from 0 to 16");
  EXPECT_THAT(ErrorOf(absl::StrReplaceAll(Line(1, 1), {{"1,1\n", "-1,1\n"}})),
              StartsWith("digits.csv:1: pixel 64 is '-1'"));
}

TEST(ReadImages, NamesThePixelThatIsNoInteger) {
  for (const std::string text : {"x", "1.5", "", "nan", "0x4", "1e1", "99999999999999999999"}) {
    EXPECT_EQ(
        ErrorOf(text + Line(1, 1).substr(1)),
        absl::StrCat("digits.csv:1: pixel 1 is '", text, "', expected an integer from 0 to 16"));
  }
}

TEST(ReadImages, NamesTheLabelThatIsOutOfRange) {
  EXPECT_EQ(ErrorOf(Line(1, 1) + Line(1, 10)),
            "digits.csv:2: the label is '10', expected an integer from 0 to 9");
  EXPECT_THAT(ErrorOf(Line(1, -3)), HasSubstr("the label is '-3'"));
}

TEST(ReadImages, ShowsOnlyPrintableTextOfABadValueAndNotAllOfIt) {
  const std::string bad = std::string("\x1b[31m") + std::string(5000, 'z');
  const std::string error = ErrorOf(bad + Line(1, 1).substr(1));
  EXPECT_THAT(error, AllOf(HasSubstr("'\\x1b[31mzzz"), HasSubstr("zzz', expected")));
  EXPECT_LT(error.size(), 120);
}

TEST(ReadImages, NamesTheLineOfAnOpenQuote) {
  EXPECT_EQ(ErrorOf(Line(1, 1) + "\"1" + Line(1, 1).substr(1) + FiveLines()),
            "digits.csv:2: a quoted value is not closed correctly");
}

TEST(ReadImages, RefusesAnEmptyFileAndOneThatCannotBeSplit) {
  EXPECT_THAT(ErrorOf(""), StartsWith("digits.csv holds 0 images, expected at least 5"));
  EXPECT_THAT(ErrorOf(Line(1, 1)), StartsWith("digits.csv holds 1 images"));
}

TEST(ReadImages, SaysThatAFileIsMissingOrADirectory) {
  const absl::Status missing = ReadImages("/nonexistent", "digits.csv").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), "cannot open digits.csv: No such file or directory");
  EXPECT_EQ(ReadImages("/", "/").status().message(), "cannot read /: Is a directory");
}

TEST(Split, DealsEveryImageOnceAndAlwaysInTheSameWay) {
  std::vector<Image> images(23);
  for (int i = 0; i < 23; ++i) images[i].label = i;
  const Dataset data = Split(images);
  EXPECT_EQ(data.held_out.size(), 4);
  EXPECT_EQ(data.training.size(), 19);
  std::set<int> seen;
  for (const Image& image : data.held_out) seen.insert(image.label);
  for (const Image& image : data.training) seen.insert(image.label);
  EXPECT_EQ(seen.size(), 23);
  const Dataset again = Split(images);
  for (int i = 0; i < 19; ++i) EXPECT_EQ(again.training[i].label, data.training[i].label);
}

}  // namespace
}  // namespace digits
