// Tests of tokens and of token files that change.
#include "common/credentials/token.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "common/credentials/token_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/network/certificates.h"
#include "tests/util/process/process.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeTempDir;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::ReplaceFile;

constexpr char kOne[] = "0123456789abcdefghijklmn";
constexpr char kTwo[] = "nmlkjihgfedcba9876543210";

std::string ParseErrorOf(absl::string_view contents) {
  return std::string(ParseToken(contents).status().message());
}

TEST(TokenTest, NewTokenHas256BitsInUrlSafeCharacters) {
  std::set<std::string> tokens;
  for (int i = 0; i < 1000; ++i) {
    const std::string token = NewToken();
    EXPECT_THAT(token, MatchesRegex("[-_A-Za-z0-9]{43}"));  // 43 * 6 bits
    EXPECT_EQ(*ParseToken(token), token);
    tokens.insert(token);
  }
  EXPECT_EQ(tokens.size(), 1000u);
}

TEST(TokenTest, IgnoresSurroundingWhiteSpace) {
  for (const char* around : {"", "\n", "\r\n", "  \n\n"}) {
    EXPECT_EQ(*ParseToken(absl::StrCat(around, kOne, around)), kOne);
  }
}

TEST(TokenTest, RejectsInvalidTokensWithoutShowingThem) {
  EXPECT_THAT(ParseErrorOf(""), HasSubstr("is empty"));
  EXPECT_THAT(ParseErrorOf("\n"), HasSubstr("muster token"));
  EXPECT_THAT(ParseErrorOf("secret"), HasSubstr("6 characters"));
  EXPECT_THAT(ParseErrorOf("secret"), Not(HasSubstr("secret")));
  EXPECT_THAT(ParseErrorOf(absl::StrCat(kOne, " ", kTwo)), HasSubstr("white space"));
  EXPECT_THAT(ParseErrorOf(absl::StrCat(kOne, "\n", kTwo)), HasSubstr("white space"));
  EXPECT_THAT(ParseErrorOf(absl::StrCat(kOne, "\x01")), HasSubstr("control character"));
  EXPECT_THAT(ParseErrorOf(absl::StrCat(kOne, "\xc3\xa4")), HasSubstr("a token cannot have"));
  EXPECT_THAT(ParseErrorOf(absl::string_view("0123456789abcdefghijkl\0m", 24)),
              HasSubstr("control"));
  EXPECT_THAT(ParseErrorOf(std::string(5000, 'x')), HasSubstr("more than 1024"));
}

TEST(TokenTest, Compares) {
  EXPECT_TRUE(TokensEqual(kOne, kOne));
  EXPECT_FALSE(TokensEqual(kOne, kTwo));
  EXPECT_FALSE(TokensEqual(kOne, absl::string_view(kOne).substr(1)));
  EXPECT_TRUE(TokensEqual("", ""));
}

TEST(TokenTest, ConvertsToTheHeaderAndBack) {
  EXPECT_EQ(ParseAuthorization(FormatAuthorization(kOne)), kOne);
  EXPECT_EQ(ParseAuthorization("bearer x"), "x");
  EXPECT_EQ(ParseAuthorization("Basic x"), "");
  EXPECT_EQ(ParseAuthorization("Bearer"), "");
  EXPECT_EQ(ParseAuthorization(""), "");
}

class TokenFileTest : public ::testing::Test {
 protected:
  const std::string path_ = absl::StrCat(MakeTempDir(), "/token");
};

TEST_F(TokenFileTest, NoticesAChange) {
  ReplaceFile(path_, kOne);
  const auto file = TokenFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->Get().text, kOne);
  EXPECT_EQ((*file)->Get().version, 1u);
  ReplaceFile(path_, kTwo);
  EXPECT_EQ((*file)->GetLatest().text, kTwo);
  EXPECT_EQ((*file)->GetLatest().version, 2u);
}

// Several changes to a content of the same length, in one tick of the file system's clock.
TEST_F(TokenFileTest, NoticesChangesWithinOneClockTick) {
  ReplaceFile(path_, kOne);
  const auto file = TokenFile::Open(path_);
  for (int i = 0; i < 100; ++i) {
    const std::string token = i % 2 == 0 ? kTwo : kOne;
    std::FILE* const out = std::fopen(path_.c_str(), "r+");
    std::fputs(token.c_str(), out);
    std::fclose(out);
    EXPECT_EQ((*file)->GetLatest().text, token);
  }
}

TEST_F(TokenFileTest, KeepsTheTokenIfTheFileIsUnusable) {
  ReplaceFile(path_, kOne);
  const auto file = TokenFile::Open(path_);
  ReplaceFile(path_, "short");
  EXPECT_EQ((*file)->GetLatest().text, kOne);
  EXPECT_THAT(std::string((*file)->problem().message()), HasSubstr(path_));
  std::remove(path_.c_str());
  EXPECT_EQ((*file)->GetLatest().text, kOne);
  EXPECT_THAT(std::string((*file)->problem().message()), HasSubstr("No such file"));
  ReplaceFile(path_, kOne);
  EXPECT_EQ((*file)->GetLatest().version, 1u);
  EXPECT_TRUE((*file)->problem().ok());
}

TEST_F(TokenFileTest, WarnsIfOtherUsersCanReadOrWriteIt) {
  ReplaceFile(path_, kOne, 0640);
  EXPECT_THAT(TokenFileWarning(path_), IsEmpty());
  ReplaceFile(path_, kOne, 0644);
  EXPECT_THAT(TokenFileWarning(path_), HasSubstr("can read"));
  ReplaceFile(path_, kOne, 0602);
  EXPECT_THAT(TokenFileWarning(path_), HasSubstr("can change"));
}

}  // namespace
}  // namespace muster
