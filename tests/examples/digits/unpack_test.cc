// Tests of unpacking the gzip file of the data set.
#include "examples/digits/unpack.h"

#include <zlib.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/examples/digits/temp_file.h"

namespace digits {
namespace {

using ::muster::testing::ReadFile;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Returns more than one buffer of text, so that a lost part is noticed.
std::string LongText() {
  std::string text;
  for (int i = 0; text.size() < 300000; ++i) absl::StrAppend(&text, i, ",");
  return text;
}

std::string GzipFileOf(const std::string& text) {
  const std::string path = TempFile("packed.gz", "");
  gzFile file = gzopen(path.c_str(), "wb");
  EXPECT_EQ(gzwrite(file, text.data(), text.size()), static_cast<int>(text.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
  return path;
}

std::string NewFile() { return absl::StrCat(muster::testing::MakeTempDir(), "/plain"); }

TEST(Gunzip, RestoresTheFile) {
  const std::string plain = NewFile();
  const absl::Status status = Gunzip(GzipFileOf(LongText()), plain);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ReadFile(plain), LongText());
}

TEST(Gunzip, NamesAFileThatIsMissing) {
  EXPECT_EQ(Gunzip("/nonexistent.gz", NewFile()).message(),
            "cannot open /nonexistent.gz: No such file or directory");
}

TEST(Gunzip, RefusesWhatIsNotGzip) {
  for (const std::string contents : {"", "1,2,3\n"}) {
    const std::string path = TempFile("plain.gz", contents);
    EXPECT_EQ(Gunzip(path, NewFile()).message(),
              absl::StrCat("cannot unpack ", path, ": not a gzip file"));
  }
}

TEST(Gunzip, RefusesAFileThatEndsEarlyOrIsDamaged) {
  const std::string whole = ReadFile(GzipFileOf(LongText()));
  const std::string cut = TempFile("cut.gz", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(std::string(Gunzip(cut, NewFile()).message()),
              StartsWith(absl::StrCat("cannot unpack ", cut)));
  std::string damaged = whole;
  damaged[whole.size() / 2] ^= 0x55;
  EXPECT_EQ(Gunzip(TempFile("damaged.gz", damaged), NewFile()).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Gunzip, SaysWhereItCannotWrite) {
  EXPECT_THAT(std::string(Gunzip(GzipFileOf("1\n"), "/nonexistent/plain").message()),
              HasSubstr("cannot write /nonexistent/plain"));
}

TEST(ScratchDir, IsThereAsLongAsTheObject) {
  std::string path;
  {
    ScratchDir scratch;
    const absl::StatusOr<std::string> created = scratch.Create();
    ASSERT_TRUE(created.ok()) << created.status();
    path = *created;
    std::ofstream(path + "/file") << "contents";
    EXPECT_TRUE(std::filesystem::exists(path + "/file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace digits
