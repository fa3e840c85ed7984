// The Stopper, and the end of groups, with a handle whose communicator was never created.

#include "client/nccl/stopper.h"

#include <dirent.h>
#include <nccl.h>

#include <stdexcept>
#include <thread>

#include "absl/synchronization/notification.h"
#include "client/nccl/handle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/fake_job.h"
#include "tests/util/wait_until.h"

namespace muster::internal {
namespace {

using ::muster::testing::FakeJob;
using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(60);

int Threads() {
  DIR* const open = opendir("/proc/self/task");
  int entries = 0;
  while (readdir(open) != nullptr) ++entries;
  closedir(open);
  return entries;
}

SteadyTime Soon() { return After(SteadyClock::now(), kPatience); }

class StopperTest : public ::testing::Test {
 protected:
  ~StopperTest() override { handle_->Discard(absl::CancelledError("the test is over"), Soon()); }

  FakeJob job_{1};
  const std::shared_ptr<NcclHandle> handle_ =
      NcclHandle::Open(job_.world(0), Device{0, "fake", "GPU-0"}, kPatience);
};

TEST_F(StopperTest, DoesNotPollForAThreadThatStaysInside) {
  absl::Notification inside, go_on;
  std::thread owner([&] {
    // Nothing is in the group that could fail.
    EXPECT_TRUE(handle_
                    ->Grouped([&] {
                      inside.Notify();
                      go_on.WaitForNotification();
                      return absl::OkStatus();
                    })
                    .ok());
  });
  inside.WaitForNotification();
  const int threads = Threads();
  handle_->Fail(absl::AbortedError("lost"));
  EXPECT_TRUE(testing::WaitUntil([&] { return Threads() == threads; }, kPatience));
  // Freeing another communicator would wait for this one's work.
  EXPECT_FALSE(Stopper::Get().AwaitQuiet(SteadyClock::now()));
  go_on.Notify();
  EXPECT_TRUE(handle_->AwaitStopped(Soon())) << "by the Stopper, which the thread has woken";
  EXPECT_TRUE(Stopper::Get().AwaitQuiet(Soon()));
  owner.join();
  EXPECT_EQ(handle_->health(), absl::AbortedError("lost"));
}

TEST_F(StopperTest, AnExceptionClosesTheGroup) {
  const absl::Status status =
      handle_->Grouped([]() -> absl::Status { throw std::runtime_error("the program's own"); });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("threw: the program's own"));
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage) << "a group was left open";
  EXPECT_EQ(handle_->health(), status);
  EXPECT_EQ(handle_->Grouped([] { return absl::OkStatus(); }), status);
}

TEST_F(StopperTest, AnExceptionInANestedGroupEndsTheOuterOneToo) {
  const absl::Status status =
      handle_->Grouped([&] { return handle_->Grouped([]() -> absl::Status { throw 7; }); });
  EXPECT_THAT(std::string(status.message()), HasSubstr("not a std::exception"));
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

}  // namespace
}  // namespace muster::internal
