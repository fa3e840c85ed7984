// Exchanges between real processes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/util/daemon.h"
#include "tests/util/process.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kError = 3;

std::string RankPath() { return Runfile("tests/client/exchange/exchanging"); }

// The ranks of one job, which has ended, each with its output.
class Ranks {
 public:
  Ranks(int size, int per_node, const std::vector<std::string>& arguments) {
    daemon_ = TestDaemon::Start({"--world-size", absl::StrCat(size), "--member-grace", "300ms"});
    std::vector<std::string> argv = {RankPath()};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    for (int rank = 0; rank < size; ++rank) {
      processes_.push_back(
          Process::Start(argv, {{"MUSTER_COORDINATOR", daemon_->address()},
                                {"MUSTER_RANK", absl::StrCat(rank)},
                                {"MUSTER_NODE_ID", absl::StrCat("node-", rank / per_node)}}));
    }
    for (auto& process : processes_) {
      exits_.push_back(process->Wait());
      outputs_.push_back(process->Output());
    }
  }

  const Exit& exit(int rank) const { return exits_[rank]; }
  const std::vector<Exit>& exits() const { return exits_; }
  const std::string& output(int rank) const { return outputs_[rank]; }
  const std::vector<std::string>& outputs() const { return outputs_; }

 private:
  std::unique_ptr<TestDaemon> daemon_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<Exit> exits_;
  std::vector<std::string> outputs_;
};

// What the last of `size` ranks prints of the configurations.
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
  EXPECT_THAT(ranks.exits(), Each(Exit{false, 0}));
  EXPECT_EQ(ranks.output(size - 1), AllConfigurations(size));
  for (int rank = 0; rank < size - 1; ++rank) {
    EXPECT_EQ(ranks.output(rank), absl::StrCat("rank ", rank, " sees 0\n"));
  }
}

TEST(ParallelExchangeTest, TheFirstOfTheRanksSeesAllConfigurations) {
  for (const int size : {1, 2, 4}) ExpectConfigurations(Ranks(size, size, {"configs"}), size);
}

TEST(ParallelExchangeTest, AFolderReachesOtherNodes) {
  const std::string folder = MakeTempDir();
  for (const int size : {1, 2, 4}) {
    ExpectConfigurations(Ranks(size, size / 2 + size % 2, {"configs", folder}), size);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
}

TEST(ParallelExchangeTest, TheFirstOfTheRanksSeesAllTensors) {
  for (const int size : {1, 2, 4}) {
    const Ranks ranks(size, size, {"tensors"});
    EXPECT_THAT(ranks.exits(), Each(Exit{false, 0}));
    std::string expected;
    for (int rank = size - 1; rank >= 0; --rank) {
      absl::StrAppend(&expected, "rank ", size - 1, " sees ", rank, ",", rank, ",", rank, "\n");
    }
    EXPECT_EQ(ranks.output(size - 1),
              absl::StrCat(expected, "rank ", size - 1, " sees ", size, "\n"));
  }
}

TEST(ParallelExchangeTest, SharedMemoryBetweenNodesIsRefusedNamingThem) {
  for (const char* what : {"configs", "tensors"}) {
    const Ranks ranks(4, 2, {what});
    EXPECT_THAT(ranks.exits(), Each(Exit{false, kError}));
    EXPECT_THAT(ranks.outputs(),
                Each(AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("rank 3 (node 'node-1'"),
                           HasSubstr("rank 0 (node 'node-0'"), HasSubstr("rank 1 (node 'node-0'"),
                           HasSubstr("a shared folder"))));
  }
}

TEST(ParallelExchangeTest, UnequalTensorsAreRefusedNamingTheRanks) {
  EXPECT_THAT(Ranks(4, 4, {"unequal"}).outputs(),
              Each(AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("rank 3 (node"),
                         HasSubstr("has 12 bytes of int32"), HasSubstr("rank 1 (node"),
                         HasSubstr("has 16 bytes of int32"))));
}

TEST(ParallelExchangeTest, AnErrorOfOneRankIsTheErrorOfAll) {
  for (const std::string folder : {std::string(), MakeTempDir()}) {
    EXPECT_THAT(Ranks(2, 2, {"malformed", folder}).outputs(),
                Each(AllOf(HasSubstr("INVALID_ARGUMENT: rank 1 (node"), HasSubstr("not JSON"))));
  }
  EXPECT_THAT(Ranks(2, 2, {"configs", "/proc/none"}).outputs(),
              Each(AllOf(HasSubstr("rank 0 (node"), HasSubstr("/proc/none/exchange-"))));
}

TEST(ParallelExchangeTest, DifferentListsAreRefused) {
  EXPECT_THAT(
      Ranks(2, 2, {"lists"}).outputs(),
      Each(AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("says [1,0]"), HasSubstr("says [1]"))));
}

TEST(ParallelExchangeTest, TooLittleSharedMemoryIsAnErrorOfAll) {
  EXPECT_THAT(Ranks(2, 2, {"too-large"}).outputs(),
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
  for (const char* what : {"killed-before", "killed-inside"}) {
    SCOPED_TRACE(what);
    const Ranks ranks(3, 3, {what});
    EXPECT_EQ(ranks.exit(0), (Exit{true, SIGKILL}));
    for (const int rank : {1, 2}) {
      EXPECT_EQ(ranks.exit(rank), (Exit{false, kError}));
      EXPECT_THAT(ranks.output(rank),
                  AllOf(HasSubstr("error: ABORTED"), HasSubstr("rank 0 (node")));
    }
    if (what == std::string("killed-inside")) {
      EXPECT_THAT(ranks.output(2), HasSubstr("after the loss: 7"));
    }
  }
  // 16 MiB for each rank would be missing; what others on this machine use comes and goes.
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (FreeSharedMemory() + (8 << 20) < before && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_GE(FreeSharedMemory() + (8 << 20), before);
}

}  // namespace
}  // namespace muster::testing
