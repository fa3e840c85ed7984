// The guard's rules, on a clock that the test steps.
#include "server/service/credentials/call_guard.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kStart = absl::UnixEpoch();

TEST(AcceptedTokensTest, AReplacedTokenIsGoodUntilTheOverlapIsOver) {
  AcceptedTokens tokens(absl::Minutes(5));
  EXPECT_TRUE(tokens.Replace("one", kStart));
  EXPECT_TRUE(tokens.Replace("two", kStart + absl::Hours(1)));
  EXPECT_FALSE(tokens.Replace("two", kStart + absl::Hours(2)));
  EXPECT_TRUE(tokens.Accepts("one", kStart + absl::Minutes(64)));
  EXPECT_FALSE(tokens.Accepts("one", kStart + absl::Minutes(65)));
  EXPECT_TRUE(tokens.Accepts("two", kStart + absl::Minutes(65)));
  EXPECT_FALSE(tokens.Accepts("", kStart));
}

TEST(AcceptedTokensTest, SeveralReplacedTokensAreGoodEachForItsTime) {
  AcceptedTokens tokens(absl::Minutes(5));
  tokens.Replace("one", kStart);
  tokens.Replace("two", kStart + absl::Minutes(1));
  tokens.Replace("three", kStart + absl::Minutes(3));
  const absl::Time later = kStart + absl::Minutes(6);
  EXPECT_FALSE(tokens.Accepts("one", later));
  EXPECT_TRUE(tokens.Accepts("two", later));
  EXPECT_TRUE(tokens.Accepts("three", later));
}

TEST(AcceptedTokensTest, ATokenThatComesBackStays) {
  AcceptedTokens tokens(absl::Minutes(5));
  tokens.Replace("one", kStart);
  tokens.Replace("two", kStart);
  tokens.Replace("one", kStart);
  EXPECT_TRUE(tokens.Accepts("one", kStart + absl::Hours(1)));
  EXPECT_FALSE(tokens.Accepts("two", kStart + absl::Hours(1)));
}

TEST(AcceptedTokensTest, NothingIsGoodBeforeThereIsAToken) {
  EXPECT_FALSE(AcceptedTokens(absl::Minutes(5)).Accepts("", kStart));
}

TEST(AuthFailureLogTest, LogsAtOnceThenOneLineEveryTenSeconds) {
  AuthFailureLog log;
  log.Add("10.0.0.7", "no token", kStart);
  EXPECT_THAT(log.TakeLines(kStart), ElementsAre("refused 1 call from 10.0.0.7: no token"));
  for (int i = 0; i < 1000; ++i) {
    log.Add("10.0.0.7", "wrong token", kStart + absl::Seconds(9));
    EXPECT_THAT(log.TakeLines(kStart + absl::Seconds(9)), IsEmpty());
  }
  EXPECT_THAT(log.TakeLines(kStart + absl::Seconds(10)),
              ElementsAre("refused 1000 calls from 10.0.0.7: wrong token"));
  EXPECT_THAT(log.TakeLines(kStart + absl::Seconds(30)), IsEmpty());
}

TEST(AuthFailureLogTest, EachHostHasItsOwnLine) {
  AuthFailureLog log;
  log.Add("10.0.0.7", "no token", kStart);
  log.Add("::1", "no token", kStart);
  EXPECT_THAT(log.TakeLines(kStart), SizeIs(2));
}

TEST(AuthFailureLogTest, ManyHostsDoNotFillTheMemory) {
  AuthFailureLog log;
  for (int i = 0; i < 10000; ++i) log.Add(std::to_string(i), "no token", kStart);
  EXPECT_THAT(log.TakeLines(kStart), SizeIs(AuthFailureLog::kMaxHosts + 1));
}

}  // namespace
}  // namespace muster::service
