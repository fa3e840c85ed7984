// Tests of what a caller does when its token is rejected.
#include "common/credentials/caller_token.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/network/certificates.h"
#include "tests/util/process/process.h"

namespace muster {
namespace {

using Retry = CallerToken::Retry;
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
  std::optional<Retry> CallWhere(const std::string& good, CallerToken::Time now = kStart) {
    for (int sends = 0; sends < 10; ++sends) {
      const TokenFile::Token sent = token_->Get();
      if (sent.text == good) {
        token_->OnAccepted(sent.version);
        return std::nullopt;
      }
      const Retry verdict = token_->OnRejected(sent.version, now);
      if (verdict != Retry::kNow) return verdict;
    }
    ADD_FAILURE() << "it never ends";
    return std::nullopt;
  }

  const std::string path_ = absl::StrCat(MakeTempDir(), "/token");
  std::unique_ptr<CallerToken> token_;
};

TEST_F(CallerTokenTest, RejectionOfANeverAcceptedTokenIsFinal) {
  EXPECT_EQ(CallWhere(kTwo), Retry::kNever);
}

TEST_F(CallerTokenTest, RetriesWithTheNewTokenFromTheFile) {
  ReplaceFile(path_, kTwo);
  EXPECT_EQ(CallWhere(kTwo), std::nullopt);
}

TEST_F(CallerTokenTest, UsesTheOldTokenUntilTheCoordinatorHasTheNewOne) {
  EXPECT_EQ(CallWhere(kOne), std::nullopt);
  ReplaceFile(path_, kTwo);
  token_->OnRejected(/*version=*/0, kStart);  // too old; reads the file again
  EXPECT_EQ(CallWhere(kOne), std::nullopt);
  EXPECT_EQ(token_->Get().text, kOne);
  EXPECT_EQ(CallWhere(kTwo), std::nullopt);
  EXPECT_EQ(token_->Get().text, kTwo);
}

TEST_F(CallerTokenTest, RetriesForAWhileAfterAnEarlierAcceptance) {
  EXPECT_EQ(CallWhere(kOne), std::nullopt);
  EXPECT_EQ(CallWhere(kTwo, kStart), Retry::kLater);
  EXPECT_EQ(CallWhere(kTwo, kStart + std::chrono::seconds(119)), Retry::kLater);
  EXPECT_EQ(CallWhere(kTwo, kStart + CallerToken::kRetryPeriod), Retry::kNever);
  ReplaceFile(path_, kTwo);
  EXPECT_EQ(CallWhere(kTwo, kStart + CallerToken::kRetryPeriod), std::nullopt);
  EXPECT_EQ(CallWhere("neither", kStart + std::chrono::hours(1)), Retry::kLater);
}

TEST_F(CallerTokenTest, ConcurrentCallsAllSucceed) {
  EXPECT_EQ(CallWhere(kOne), std::nullopt);
  ReplaceFile(path_, kTwo);
  // These calls were sent before this process knew of the change.
  EXPECT_EQ(token_->OnRejected(1, kStart), Retry::kNow);
  EXPECT_EQ(token_->OnRejected(1, kStart), Retry::kNow);
  EXPECT_EQ(token_->Get().text, kTwo);
  EXPECT_EQ(token_->OnRejected(1, kStart), Retry::kNow);
  EXPECT_EQ(token_->Get().text, kTwo);
}

}  // namespace
}  // namespace muster
