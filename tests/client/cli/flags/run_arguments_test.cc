// Tests of where the flags of `muster run` end and the program begins.
#include "client/cli/flags/run_arguments.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Arguments = std::vector<std::string>;

const KnownFlags kKnown = {{"--nproc-per-node", "--job", "--node-rank"},
                           {"--no-prefix", "--help", "-h"}};

RunArguments Split(const Arguments& words) {
  const absl::StatusOr<RunArguments> split = SplitRunArguments(words, kKnown);
  EXPECT_TRUE(split.ok()) << split.status();
  return split.value_or(RunArguments{});
}

std::string Refusal(const Arguments& words) {
  return std::string(SplitRunArguments(words, kKnown).status().message());
}

TEST(RunArgumentsTest, TheProgramFollowsTheDashes) {
  const RunArguments split =
      Split({"--job", "a", "--no-prefix", "--", "./train", "--job", "b", "--"});
  EXPECT_THAT(split.flags, ElementsAre("--job", "a", "--no-prefix"));
  EXPECT_THAT(split.program, ElementsAre("./train", "--job", "b", "--"));
  EXPECT_THAT(Split({"--job", "--", "./train"}).program, ElementsAre("./train"));
}

TEST(RunArgumentsTest, WithoutDashesTheProgramFollowsTheFlags) {
  const RunArguments split = Split({"--no-prefix", "--job", "a", "./train", "--epochs", "3", "-v"});
  EXPECT_THAT(split.flags, ElementsAre("--no-prefix", "--job", "a"));
  EXPECT_THAT(split.program, ElementsAre("./train", "--epochs", "3", "-v"));
  EXPECT_THAT(Split({"--job=a", "./train"}).program, ElementsAre("./train"));
  EXPECT_THAT(Split({"./train", "--help"}).program, ElementsAre("./train", "--help"));
  EXPECT_THAT(Split({"--job", "a"}).program, IsEmpty());
}

TEST(RunArgumentsTest, AmbiguousArgumentsAreRejected) {
  EXPECT_THAT(Refusal({"./train", "--", "x"}),
              HasSubstr("it is unclear whether the program is './train' or what"));
  EXPECT_THAT(Refusal({"./train", "--node_rank=1"}), HasSubstr("--node-rank follows the program"));
  EXPECT_THAT(Refusal({"./train", "--job", "b"}), HasSubstr("put -- before the program"));
}

TEST(RunArgumentsTest, UnderscoresAreDashesInKnownFlagsOnly) {
  const RunArguments split =
      Split({"--nproc_per_node=a_b", "--job", "--node_rank", "./a_b", "--x_y"});
  EXPECT_THAT(split.flags, ElementsAre("--nproc-per-node=a_b", "--job", "--node_rank"));
  EXPECT_THAT(split.program, ElementsAre("./a_b", "--x_y"));
  EXPECT_EQ(WithDashes("--x_y", kKnown), "--x_y");
}

TEST(RunArgumentsTest, AnUnknownFlagEndsTheFlags) {
  const RunArguments split = Split({"--job=a", "--frobnicate", "3", "./train", "--help"});
  EXPECT_THAT(split.flags, ElementsAre("--job=a", "--frobnicate"));
}

}  // namespace
}  // namespace muster::cli
