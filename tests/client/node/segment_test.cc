// Tests of the file behind a segment: which process makes it, which may open it, and when it is
// removed.

#include "client/src/node/segment.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/src/node/futex.h"
#include "gtest/gtest.h"

namespace muster::internal {
namespace {

// A new folder in a tmpfs.
class SegmentTest : public ::testing::Test {
 protected:
  SegmentTest() {
    char name[] = "/dev/shm/muster-segment-test-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~SegmentTest() override { std::filesystem::remove_all(folder_); }

  SegmentOptions Of(uint32_t self, uint32_t members = 2) const {
    SegmentOptions options;
    options.job_id = "train";
    options.epoch_number = 5;
    options.epoch_nonce = 0xabcdef;
    options.node_id = "n0";
    options.members = members;
    options.self = self;
    options.folder = folder_;
    return options;
  }
  std::string Path() const { return (*NodeSegment::Open(Of(0)))->path(); }
  size_t Files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_),
                                             std::filesystem::directory_iterator()));
  }

  std::string folder_;
};

TEST_F(SegmentTest, IsReadyAndNamelessOnceAllHaveMappedIt) {
  auto a = NodeSegment::Open(Of(0));
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_FALSE((*a)->Ready());
  EXPECT_EQ(Files(), 1u);
  auto b = NodeSegment::Open(Of(1));
  ASSERT_TRUE(b.ok()) << b.status();
  EXPECT_TRUE((*a)->Ready() && (*b)->Ready());
  EXPECT_EQ(Files(), 0u);
}

TEST_F(SegmentTest, IsOpenToItsUserAlone) {
  auto a = NodeSegment::Open(Of(0));
  struct stat info;
  ASSERT_EQ(stat((*a)->path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(SegmentTest, ConcurrentMembersOpenTheSameSegment) {
  constexpr uint32_t kMembers = 16;
  std::vector<std::unique_ptr<NodeSegment>> segments(kMembers);
  std::vector<std::thread> threads;
  for (uint32_t m = 0; m < kMembers; ++m) {
    threads.emplace_back([&, m] {
      auto opened = NodeSegment::Open(Of(m, kMembers));
      ASSERT_TRUE(opened.ok()) << opened.status();
      segments[m] = *std::move(opened);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& segment : segments) EXPECT_TRUE(segment->Ready());
  EXPECT_EQ(Files(), 0u);
}

TEST_F(SegmentTest, OtherEpochsJobsAndNodesHaveOtherSegments) {
  auto a = NodeSegment::Open(Of(0));
  std::vector<std::string> paths = {(*a)->path()};
  for (int what = 0; what < 4; ++what) {
    SegmentOptions options = Of(0);
    if (what == 0) options.epoch_nonce ^= 1;
    if (what == 1) options.epoch_number ^= 1;
    if (what == 2) options.job_id = "other";
    if (what == 3) options.node_id = "n1";
    auto other = NodeSegment::Open(options);
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ(std::count(paths.begin(), paths.end(), (*other)->path()), 0);
    paths.push_back((*other)->path());
  }
}

TEST_F(SegmentTest, AnEarlyLeaverRemovesTheName) {
  { auto a = NodeSegment::Open(Of(0)); }
  EXPECT_EQ(Files(), 0u);
}

TEST_F(SegmentTest, AMemberEntersOnce) {
  auto a = NodeSegment::Open(Of(0));
  const auto again = NodeSegment::Open(Of(0));
  EXPECT_EQ(again.status().code(), absl::StatusCode::kFailedPrecondition) << again.status();
}

// Creates a file and locks it, like a process that uses it. Returns the descriptor.
int Put(const std::string& path) {
  const int file = open(path.c_str(), O_CREAT | O_RDWR, 0600);
  flock(file, LOCK_SH);
  return file;
}

TEST_F(SegmentTest, LeftoversOfKilledMembersAreRemoved) {
  const std::string left = folder_ + "/muster-0123456789abcdef-0123456789abcdef";
  const std::string others = folder_ + "/muster-of-somebody-else";
  close(Put(left));
  close(Put(others));
  SegmentOptions of_another_epoch = Of(0);
  of_another_epoch.epoch_nonce = 77;
  auto in_use = NodeSegment::Open(of_another_epoch);
  ASSERT_TRUE(in_use.ok()) << in_use.status();
  EXPECT_FALSE(std::filesystem::exists(left));
  auto a = NodeSegment::Open(Of(0));
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_TRUE(std::filesystem::exists((*in_use)->path()));
  EXPECT_TRUE(std::filesystem::exists(others));
}

TEST_F(SegmentTest, ForeignFilesAreNotTrusted) {
  const std::string path = Path();
  const auto expect = [&](const std::string& why) {
    const auto opened = NodeSegment::Open(Of(0));
    EXPECT_NE(std::string(opened.status().message()).find(why), std::string::npos)
        << opened.status();
    std::filesystem::remove_all(path);
  };
  ASSERT_EQ(symlink("/etc/passwd", path.c_str()), 0);
  expect("cannot open");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  expect("is not a file");
  int file = Put(path);
  expect("has 0 bytes; expected");
  close(file);
  file = Put(path);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  expect("is open to other users");
  close(file);
  SegmentOptions smaller = Of(1);
  smaller.groups = 4;
  auto other = NodeSegment::Open(smaller);
  ASSERT_TRUE(other.ok());
  expect("bytes; expected");
}

TEST_F(SegmentTest, MembersOutOfRangeAreRefused) {
  EXPECT_FALSE(NodeSegment::Open(Of(2, 2)).ok());
  EXPECT_FALSE(NodeSegment::Open(Of(0, 257)).ok());
}

TEST_F(SegmentTest, AMissingFolderIsAnError) {
  SegmentOptions options = Of(0);
  options.folder += "/none";
  EXPECT_FALSE(NodeSegment::Open(options).ok());
}

TEST_F(SegmentTest, GroupsHaveSlotsOfTheirOwnUntilTheTableIsFull) {
  auto a = NodeSegment::Open(Of(0));
  auto b = NodeSegment::Open(Of(1));
  for (uint64_t group = 0; group < Of(0).groups; ++group) {
    const uint64_t name = 100 + group * 16;  // all names begin their search at the same place
    const std::optional<SharedGroup> mine = (*a)->FindGroup(name);
    ASSERT_TRUE(mine.has_value());
    ASSERT_EQ(mine->slots[0].word->exchange(static_cast<uint32_t>(name)), 0u);
    EXPECT_EQ((*b)->FindGroup(name)->slots[0].word->load(), name) << "the other finds the same";
  }
  EXPECT_FALSE((*a)->FindGroup(7).has_value());
  EXPECT_TRUE((*b)->FindGroup(100).has_value());
}

TEST_F(SegmentTest, EachGroupHasOneCommitWordAndOneBell) {
  auto a = NodeSegment::Open(Of(0));
  auto b = NodeSegment::Open(Of(1));
  for (const uint64_t name : {1, 2}) {
    const std::optional<SharedGroup> mine = (*a)->FindGroup(name);
    const std::optional<SharedGroup> others = (*b)->FindGroup(name);
    ASSERT_TRUE(mine && others);
    EXPECT_EQ(mine->commits->exchange(name), 0u);
    EXPECT_EQ(others->commits->load(), name);
    EXPECT_EQ(mine->bell->exchange(7), 0u);
    EXPECT_EQ(others->bell->load(), 7u);
    EXPECT_EQ(mine->slots[0].word->load(), 0u);
  }
}

TEST_F(SegmentTest, MembersReadEachOthersSlots) {
  auto a = NodeSegment::Open(Of(0));
  auto b = NodeSegment::Open(Of(1));
  FanInSlots<SharedFutex> mine(*(*a)->FindGroup(1), {0, 1}, 0),
      theirs(*(*b)->FindGroup(1), {0, 1}, 1);
  Contribution contribution;
  contribution.payload = std::string(4096, 'p');
  ASSERT_TRUE(mine.Post(contribution) && theirs.Post(contribution));
  const std::vector<TakenPart> parts = theirs.Take(0);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].contribution.payload, contribution.payload);
  theirs.Publish(parts, {0, 1}, {0, std::string(60'000, 'r')});
  std::optional<Result> result;
  EXPECT_TRUE(mine.TakeAnswer(mine.OwnWord(), 0, &result));
  EXPECT_EQ(result->answer.size(), 60'000u);
}

}  // namespace
}  // namespace muster::internal
