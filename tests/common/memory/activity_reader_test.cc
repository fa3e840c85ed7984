// Tests of what a launcher sees of a rank's communicators.
#include "common/memory/activity_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/memory/activity_publisher.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

class ActivityReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<ActivityReader>> made = ActivityReader::Make();
    ASSERT_TRUE(made.ok()) << made.status();
    activity_ = *std::move(made);
    setenv(activity::kVariable, activity_->path().c_str(), 1);
  }

  // Runs `rank` in a process, as a rank is one. Returns when it has ended.
  static void InRank(const std::function<void()>& rank) {
    const pid_t child = fork();
    if (child == 0) {
      rank();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }

  std::unique_ptr<ActivityReader> activity_;
};

auto Communicator(const std::string& name, uint64_t begun, uint64_t ended) {
  return AllOf(Field(&CommunicatorActivity::name, name), Field(&CommunicatorActivity::begun, begun),
               Field(&CommunicatorActivity::ended, ended));
}

TEST_F(ActivityReaderTest, IsEmptyBeforeTheRankWrites) {
  EXPECT_THAT(activity_->Read(), IsEmpty());
}

TEST_F(ActivityReaderTest, ShowsTheLastOperationOfAnEndedRank) {
  InRank([] {
    auto* const world = new ActivityPublisher("communicator 1 of the world");
    world->Begin("Broadcast", 8);
    world->End();
    world->Begin("AllReduce", 4096);
  });
  const std::vector<CommunicatorActivity> read = activity_->Read();
  ASSERT_THAT(read, ElementsAre(Communicator("communicator 1 of the world", 2, 1)));
  EXPECT_EQ(read[0].operation, "AllReduce");
  EXPECT_EQ(read[0].bytes, 4096);
  EXPECT_GE(read[0].since, absl::ZeroDuration());
  EXPECT_LT(read[0].since, absl::Hours(1));
}

TEST_F(ActivityReaderTest, ListsLiveCommunicatorsInCreationOrder) {
  InRank([] {
    auto first = std::make_unique<ActivityPublisher>("first");
    new ActivityPublisher("second");
    first.reset();
    new ActivityPublisher("third");  // reuses the place of the first
  });
  EXPECT_THAT(activity_->Read(),
              ElementsAre(Communicator("second", 0, 0), Communicator("third", 0, 0)));
}

TEST_F(ActivityReaderTest, ExcessCommunicatorsAreIgnored) {
  InRank([] {
    for (int i = 0; i < 100; ++i) {
      auto* const one = new ActivityPublisher("one");
      one->Begin(std::string(1000, 'o'), 1);
    }
  });
  const std::vector<CommunicatorActivity> read = activity_->Read();
  ASSERT_THAT(read, SizeIs(64));
  EXPECT_EQ(read[0].operation, std::string(24, 'o'));
}

// Otherwise the ranks of two groups would look like one communicator, with each group behind the
// other.
TEST_F(ActivityReaderTest, TruncatedNamesStayDistinct) {
  const std::string group = "communicator 1 of group '" + std::string(100, 'n') + "' of ranks ";
  InRank([&] {
    new ActivityPublisher(group + "0-7");
    new ActivityPublisher(group + "8-15");
    new ActivityPublisher(std::string(96, 'n'));
  });
  InRank([&] { new ActivityPublisher(group + "0-7"); });
  const std::vector<CommunicatorActivity> read = activity_->Read();
  ASSERT_THAT(read, SizeIs(4));
  EXPECT_EQ(read[0].name.size(), 96u);
  EXPECT_EQ(read[0].name.rfind("communicator 1 of group 'nnn", 0), 0u) << read[0].name;
  EXPECT_NE(read[0].name, read[1].name);
  EXPECT_EQ(read[2].name, std::string(96, 'n'));
  EXPECT_EQ(read[3].name, read[0].name);
}

TEST_F(ActivityReaderTest, NamesAreCutBetweenCharacters) {
  InRank([] {
    std::string name = "n";  // so that the cut is within a character
    for (int i = 0; i < 100; ++i) name += "\u00fc";
    new ActivityPublisher(name);
    new ActivityPublisher("n" + name);
  });
  for (const CommunicatorActivity& one : activity_->Read()) {
    EXPECT_EQ(
        absl::StrReplaceAll(one.name, {{"\u00fc", "u"}}).find_first_not_of("nu.#0123456789abcdef"),
        std::string::npos)
        << one.name;
  }
}

TEST_F(ActivityReaderTest, RankWorksWithoutALauncher) {
  unsetenv(activity::kVariable);
  InRank([] { ActivityPublisher("alone").Begin("AllReduce", 1); });
  setenv(activity::kVariable, "/nowhere", 1);
  InRank([] { ActivityPublisher("alone").Begin("AllReduce", 1); });
  setenv(activity::kVariable, "/dev/null", 1);
  InRank([] { ActivityPublisher("alone").Begin("AllReduce", 1); });
  EXPECT_THAT(activity_->Read(), IsEmpty());
}

// Otherwise a rank could end its launcher, or the launcher a rank, with SIGBUS.
TEST_F(ActivityReaderTest, MemoryCannotBeTruncated) {
  const int descriptor = open(activity_->path().c_str(), O_RDWR);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(ftruncate(descriptor, 0), -1);
  close(descriptor);
}

TEST_F(ActivityReaderTest, ToleratesGarbageFromTheRank) {
  InRank([this] {
    const int descriptor = open(activity_->path().c_str(), O_RDWR);
    const std::string noise(1 << 14, '\xff');
    if (pwrite(descriptor, noise.data(), noise.size(), 8) <= 0) _exit(1);
  });
  for (const CommunicatorActivity& one : activity_->Read()) {
    EXPECT_LE(one.ended, one.begun);
    EXPECT_GE(one.since, absl::ZeroDuration());
  }
}

TEST_F(ActivityReaderTest, ReadsAreConsistentDuringWrites) {
  std::atomic<bool> stop{false};
  std::thread rank([&] {
    ActivityPublisher world("world");
    for (uint64_t i = 1; !stop; ++i) {
      world.Begin(absl::StrCat(i), i);
      world.End();
    }
  });
  uint64_t seen = 0;
  while (seen < 1000) {
    for (const CommunicatorActivity& one : activity_->Read()) {
      if (one.begun == 0) continue;
      ++seen;
      EXPECT_EQ(one.operation, absl::StrCat(one.begun));
      EXPECT_EQ(one.bytes, one.begun);
      EXPECT_LE(one.begun - one.ended, 1);
    }
  }
  stop = true;
  rank.join();
}

}  // namespace
}  // namespace muster
