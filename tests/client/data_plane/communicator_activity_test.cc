// Tests of the activity that a communicator shows to its launcher.
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "common/memory/activity_publisher.h"
#include "common/memory/activity_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/data_plane/recording_backend.h"

namespace muster {
namespace {

using ::muster::testing::CommunicatorTest;
using ::testing::SizeIs;

// Returns the activity of this process. The SDK looks for it once, so it exists before the first
// communicator.
ActivityReader& Activity() {
  static ActivityReader* const activity = [] {
    std::unique_ptr<ActivityReader> made = ActivityReader::Make().value();
    setenv(activity::kVariable, made->path().c_str(), 1);
    return made.release();
  }();
  return *activity;
}

const bool kMade = (Activity(), true);

class CommunicatorActivityTest : public CommunicatorTest {
 protected:
  static CommunicatorActivity Last() {
    std::vector<CommunicatorActivity> read = Activity().Read();
    EXPECT_FALSE(read.empty());
    return read.empty() ? CommunicatorActivity() : read.back();
  }
};

TEST_F(CommunicatorActivityTest, ShowsTheOperationInProgress) {
  std::vector<float> data(4);
  EXPECT_EQ(Last().name, "communicator 1 of the world");
  EXPECT_EQ(Last().begun, 0);
  EXPECT_TRUE(comm_.Barrier().ok());
  CommunicatorActivity within;
  record_.body = [&] { within = Last(); };
  EXPECT_TRUE(comm_.AllReduce(data).ok());
  EXPECT_EQ(within.operation, "AllReduce");
  EXPECT_EQ(within.bytes, 16);
  EXPECT_EQ(within.begun, 2);
  EXPECT_EQ(within.ended, 1);
  EXPECT_EQ(Last().ended, 2);
}

// Their numbers differ between ranks, and the launcher compares ranks by their counts.
TEST_F(CommunicatorActivityTest, PointToPointMessagesDoNotCount) {
  std::vector<float> data(4);
  std::vector<float> other(4);
  EXPECT_TRUE(comm_.Barrier().ok());
  CommunicatorActivity within;
  record_.body = [&] { within = Last(); };
  EXPECT_TRUE(comm_.Send(data, 0).ok());
  EXPECT_TRUE(comm_.Recv(data, 0).ok());
  EXPECT_TRUE(comm_.SendRecv(data, 0, other, 0).ok());
  EXPECT_TRUE(comm_.SendRecv(data, comm_.rank(), other, comm_.rank()).ok());
  EXPECT_EQ(within.begun, 1);
  EXPECT_EQ(within.ended, 1);
  EXPECT_EQ(Last().begun, 1);
  EXPECT_EQ(Last().ended, 1);
  EXPECT_EQ(Last().operation, "Barrier");
}

TEST_F(CommunicatorActivityTest, ARefusedCallIsNoOperation) {
  std::vector<float> data(3);
  EXPECT_FALSE(comm_.Broadcast(data, 4).ok());
  EXPECT_EQ(Last().begun, 0);
}

TEST_F(CommunicatorActivityTest, AFailedCommunicatorHasEnded) {
  std::vector<float> data(4);
  record_.result = absl::AbortedError("rank 2 was lost");
  EXPECT_FALSE(comm_.AllReduce(data).ok());
  EXPECT_EQ(Last().begun, 1);
  EXPECT_EQ(Last().ended, 1);
}

TEST_F(CommunicatorActivityTest, EachCommunicatorOfAGroupHasANumber) {
  const Group world = job_.world(1);
  const Communicator first(world, Options(), "recording", MakeBackend());
  const Communicator second(world, Options(), "recording", MakeBackend());
  EXPECT_EQ(Last().name, "communicator 2 of the world");
  EXPECT_THAT(Activity().Read(), SizeIs(3));
}

}  // namespace
}  // namespace muster
