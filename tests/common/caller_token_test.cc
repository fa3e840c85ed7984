// Tests of what a caller does when its token is refused.
#include "common/caller_token.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/certificates.h"
#include "tests/util/process.h"

namespace muster {
namespace {

using Verdict = CallerToken::Verdict;
using testing::MakeTempDir;
using testing::ReplaceFile;

constexpr char kOne[] = "0123456789abcdefghijklmn";
constexpr char kTwo[] = "nmlkjihgfedcba9876543210";
const CallerToken::Time kStart;

class CallerTokenTest : public ::testing::Test {
 protected:
  CallerTokenTest() {
    ReplaceFile(path_, kOne);
    token_ = *CallerToken::Open(path_);
  }

  // Sends a call to a coordinator that accepts only this token, as often as the verdict is to try
  // again. Returns nullopt if the token was accepted, or the last verdict.
  std::optional<Verdict> CallWhere(const std::string& good, CallerToken::Time now = kStart) {
    for (int sends = 0; sends < 10; ++sends) {
      const TokenFile::Token sent = token_->Get();
      if (sent.text == good) {
        token_->Accepted(sent.version);
        return std::nullopt;
      }
      const Verdict verdict = token_->Refused(sent.version, now);
      if (verdict != Verdict::kTryAgain) return verdict;
    }
    ADD_FAILURE() << "it never ends";
    return std::nullopt;
  }

  const std::string path_ = absl::StrCat(MakeTempDir(), "/token");
  std::unique_ptr<CallerToken> token_;
};

TEST_F(CallerTokenTest, ATokenThatWasNeverTakenIsFinal) {
  EXPECT_EQ(CallWhere(kTwo), Verdict::kFinal);
}

TEST_F(CallerTokenTest, AnotherTokenInTheFileIsTried) {
  ReplaceFile(path_, kTwo);
  EXPECT_EQ(CallWhere(kTwo), std::nullopt);
}

TEST_F(CallerTokenTest, ACoordinatorThatDoesNotKnowTheNewTokenYetGetsTheOldOne) {
  EXPECT_EQ(CallWhere(kOne), std::nullopt);
  ReplaceFile(path_, kTwo);
  token_->Refused(/*version=*/0, kStart);  // too old; reads the file again
  EXPECT_EQ(CallWhere(kOne), std::nullopt);
  EXPECT_EQ(token_->Get().text, kOne);
  EXPECT_EQ(CallWhere(kTwo), std::nullopt);
  EXPECT_EQ(token_->Get().text, kTwo);
}

TEST_F(CallerTokenTest, WhoseTokenWasTakenOnceWaitsForAWhileForAnother) {
  EXPECT_EQ(CallWhere(kOne), std::nullopt);
  EXPECT_EQ(CallWhere(kTwo, kStart), Verdict::kTryAgainLater);
  EXPECT_EQ(CallWhere(kTwo, kStart + std::chrono::seconds(119)), Verdict::kTryAgainLater);
  EXPECT_EQ(CallWhere(kTwo, kStart + CallerToken::kPatience), Verdict::kFinal);
  ReplaceFile(path_, kTwo);
  EXPECT_EQ(CallWhere(kTwo, kStart + CallerToken::kPatience), std::nullopt);
  EXPECT_EQ(CallWhere("neither", kStart + std::chrono::hours(1)), Verdict::kTryAgainLater);
}

TEST_F(CallerTokenTest, ManyCallsAtOnceAllGetThrough) {
  EXPECT_EQ(CallWhere(kOne), std::nullopt);
  ReplaceFile(path_, kTwo);
  // These calls were sent before this process knew of the change.
  EXPECT_EQ(token_->Refused(1, kStart), Verdict::kTryAgain);
  EXPECT_EQ(token_->Refused(1, kStart), Verdict::kTryAgain);
  EXPECT_EQ(token_->Get().text, kTwo);
  EXPECT_EQ(token_->Refused(1, kStart), Verdict::kTryAgain);
  EXPECT_EQ(token_->Get().text, kTwo);
}

}  // namespace
}  // namespace muster
