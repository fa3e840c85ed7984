// Makes each mistake of the table (first_errors.h), and compares the error with the table's text.
#include "tests/client/errors/first_errors.h"

#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "tests/client/errors/plain_text.h"

namespace muster::testing {
namespace {

class FirstErrorsTest : public ::testing::TestWithParam<FirstError> {};

TEST_P(FirstErrorsTest, SaysWhatHappenedToWhomAndWhatToDoNext) {
  EXPECT_EQ(PlainText(GetParam().how()), GetParam().text);
}

std::string NameOf(const ::testing::TestParamInfo<FirstError>& row) {
  std::string name;
  for (const char c : row.param.situation) name += absl::ascii_isalnum(c) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Muster, FirstErrorsTest, ::testing::ValuesIn(ErrorsOfMuster()), NameOf);
INSTANTIATE_TEST_SUITE_P(Musterd, FirstErrorsTest, ::testing::ValuesIn(ErrorsOfMusterd()), NameOf);
INSTANTIATE_TEST_SUITE_P(Environment, FirstErrorsTest, ::testing::ValuesIn(ErrorsOfVariables()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Join, FirstErrorsTest, ::testing::ValuesIn(ErrorsOfJoin()), NameOf);
INSTANTIATE_TEST_SUITE_P(Collectives, FirstErrorsTest, ::testing::ValuesIn(ErrorsOfCollectives()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Objects, FirstErrorsTest, ::testing::ValuesIn(ErrorsOfObjects()), NameOf);

}  // namespace
}  // namespace muster::testing
