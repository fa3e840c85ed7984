// Tests of the last lines of ranks' output, for bundles of hangs.

#include "client/launcher/process/output_tails.h"

#include <string>

#include "client/observe/bundle/bundle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::launcher {
namespace {

constexpr size_t kMaxBytes = OutputTails::kMaxBytes;

TEST(OutputTailsTest, SeparatesOwners) {
  OutputTails tails;
  tails.Add("rank 0", "one\n");
  tails.Add("rank 1", "two\n");
  tails.Add("rank 0", "three\n");
  EXPECT_EQ(tails.TailOf("rank 0"), "one\nthree\n");
  EXPECT_EQ(tails.TailOf("rank 2"), "");
}

// The cut must not separate a secret from the name before it, by which it is recognized.
TEST(OutputTailsTest, KeepsTheLastLinesWhole) {
  for (size_t before = 0; before < 3 * kMaxBytes; before += 997) {
    OutputTails tails;
    tails.Add("rank 0", std::string(before, 'x') + "\nTOKEN=" + std::string(2000, 's') + "\n");
    for (size_t written = 0; written < kMaxBytes - 500; written += 10) {
      tails.Add("rank 0", "123456789\n");
    }
    const std::string shown = observe::LastLines(tails.TailOf("rank 0"), kMaxBytes);
    EXPECT_LE(shown.size(), kMaxBytes);
    EXPECT_THAT(shown, ::testing::EndsWith("123456789\n"));
    if (shown.find('s') != std::string::npos) {
      EXPECT_THAT(shown, ::testing::HasSubstr("TOKEN=")) << before;
    }
  }
}

}  // namespace
}  // namespace muster::launcher
