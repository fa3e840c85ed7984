// Tests of exchanges between real processes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/util/job/ranks.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

// Returns the command of a rank that does one step and leaves.
Args Exchanging(const std::string& step) { return RankCommand({"quiet", step, "leave"}); }

// Returns what the last of `size` ranks prints of the configurations.
std::string AllConfigurations(int size) {
  std::string text;
  for (int rank = size - 1; rank >= 0; --rank) {
    absl::StrAppend(&text, "rank ", size - 1, " sees ");
    if (rank == 2) {
      absl::StrAppend(&text, "nothing\n");
      continue;
    }
    absl::StrAppend(&text, "{\"rank\":", rank, "} w=");
    for (int i = 0; i <= rank; ++i) absl::StrAppend(&text, i == 0 ? "" : ",", rank + 0.5);
    absl::StrAppend(&text, "\n");
  }
  return absl::StrCat(text, "rank ", size - 1, " sees ", size, "\n");
}

void ExpectConfigurations(const Ranks& ranks, int size) {
  EXPECT_THAT(ranks.exits(), Each(kSuccess));
  EXPECT_EQ(ranks.output(size - 1), AllConfigurations(size));
  for (int rank = 0; rank < size - 1; ++rank) {
    EXPECT_EQ(ranks.output(rank), absl::StrCat("rank ", rank, " sees 0\n"));
  }
}

TEST(ParallelExchangeTest, TheFirstOfTheRanksSeesAllConfigurations) {
  for (const int size : {1, 2, 4})
    ExpectConfigurations(Ranks(size, size, Exchanging("configs")), size);
}

TEST(ParallelExchangeTest, AFolderReachesOtherNodes) {
  const std::string folder = MakeTempDir();
  for (const int size : {1, 2, 4}) {
    ExpectConfigurations(Ranks(size, size / 2 + size % 2, Exchanging("configs=" + folder)), size);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
}

TEST(ParallelExchangeTest, TheFirstOfTheRanksSeesAllTensors) {
  for (const int size : {1, 2, 4}) {
    const Ranks ranks(size, size, Exchanging("tensors-of-all"));
    EXPECT_THAT(ranks.exits(), Each(kSuccess));
    std::string expected;
    for (int rank = size - 1; rank >= 0; --rank) {
      absl::StrAppend(&expected, "rank ", size - 1, " sees ", rank, ",", rank, ",", rank, "\n");
    }
    EXPECT_EQ(ranks.output(size - 1),
              absl::StrCat(expected, "rank ", size - 1, " sees ", size, "\n"));
  }
}

TEST(ParallelExchangeTest, SharedMemoryBetweenNodesIsRefusedNamingThem) {
  for (const char* what : {"configs", "tensors-of-all"}) {
    const Ranks ranks(4, 2, Exchanging(what));
    EXPECT_THAT(ranks.exits(), Each(kRankError));
    EXPECT_THAT(ranks.outputs(),
                Each(AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("rank 3 (node 'node-1'"),
                           HasSubstr("rank 0 (node 'node-0'"), HasSubstr("rank 1 (node 'node-0'"),
                           HasSubstr("a shared folder"))));
  }
}

TEST(ParallelExchangeTest, UnequalTensorsAreRefusedNamingTheRanks) {
  EXPECT_THAT(Ranks(4, 4, Exchanging("unequal")).outputs(),
              Each(AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("rank 3 (node"),
                         HasSubstr("has 12 bytes of int32"), HasSubstr("rank 1 (node"),
                         HasSubstr("has 16 bytes of int32"))));
}

TEST(ParallelExchangeTest, AnErrorOfOneRankIsTheErrorOfAll) {
  for (const std::string& folder : {std::string(), MakeTempDir()}) {
    EXPECT_THAT(Ranks(2, 2, Exchanging("malformed=" + folder)).outputs(),
                Each(AllOf(HasSubstr("INVALID_ARGUMENT: rank 1 (node"), HasSubstr("not JSON"))));
  }
  EXPECT_THAT(Ranks(2, 2, Exchanging("configs=/proc/none")).outputs(),
              Each(AllOf(HasSubstr("rank 0 (node"), HasSubstr("/proc/none/exchange-"))));
}

TEST(ParallelExchangeTest, DifferentListsAreRefused) {
  EXPECT_THAT(
      Ranks(2, 2, Exchanging("lists")).outputs(),
      Each(AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("says [1,0]"), HasSubstr("says [1]"))));
}

TEST(ParallelExchangeTest, TooLittleSharedMemoryIsAnErrorOfAll) {
  EXPECT_THAT(Ranks(2, 2, Exchanging("too-large")).outputs(),
              Each(AllOf(HasSubstr("RESOURCE_EXHAUSTED: rank 0 (node"),
                         HasSubstr("bytes of shared memory are needed"),
                         HasSubstr("docker run --shm-size="))));
}

uint64_t FreeSharedMemory() {
  struct statvfs info;
  EXPECT_EQ(statvfs("/dev/shm", &info), 0);
  return info.f_bfree * info.f_frsize;
}

TEST(ParallelExchangeTest, AKilledRankLeavesNothingBehind) {
  const uint64_t before = FreeSharedMemory();
  for (const std::string& scene : {std::string("killed-before"), "killed-before=" + MakeTempDir(),
                                   std::string("killed-inside")}) {
    SCOPED_TRACE(scene);
    const Ranks ranks(3, 3, Exchanging(scene));
    EXPECT_EQ(ranks.exit(0), (Exit{true, SIGKILL}));
    for (const int rank : {1, 2}) {
      EXPECT_EQ(ranks.exit(rank), kRankError);
      EXPECT_THAT(ranks.output(rank),
                  AllOf(HasSubstr("error: ABORTED"), HasSubstr("rank 0 (node")));
    }
    if (scene == "killed-inside") {
      EXPECT_THAT(ranks.output(2), HasSubstr("after the loss: 7"));
    }
  }
  // A leak would take 16 MiB for each rank. Other users of this machine's memory cause smaller
  // changes.
  EXPECT_TRUE(WaitUntil([&] { return FreeSharedMemory() + (8 << 20) >= before; }));
}

}  // namespace
}  // namespace muster::testing
