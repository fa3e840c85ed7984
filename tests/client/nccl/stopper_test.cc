// Tests of the Stopper, and of the end of groups. Handles have no communicator, or one of a single
// rank.

#include "client/nccl/communicator/stopper.h"

#include <dirent.h>
#include <nccl.h>

#include <stdexcept>
#include <thread>

#include "absl/synchronization/notification.h"
#include "client/nccl/communicator/free.h"
#include "client/nccl/communicator/handle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nccl/fake/fake_nccl.h"
#include "tests/util/fakes/fake_job.h"
#include "tests/util/process/thread_limit.h"
#include "tests/util/process/wait_until.h"

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

// Initializes a communicator over the only rank of a job.
void Initialize(NcclHandle& handle) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const absl::Status status = handle.Initialize(
      "initializing", Deadline(kPatience, nullptr),
      [&](ncclComm_t* comm) { return ncclCommInitRankConfig(comm, 1, id, 0, &config); });
  ASSERT_TRUE(status.ok()) << status;
}

class StopperTest : public ::testing::Test {
 protected:
  StopperTest() { EXPECT_TRUE(Stopper::Get().Start().ok()); }
  ~StopperTest() override {
    fake_nccl::SetFaults("");
    handle_->Discard(absl::CancelledError("the test is over"),
                     stuck_ ? SteadyClock::now() : Soon());
  }

  std::shared_ptr<NcclHandle> OpenAnother() {
    return NcclHandle::Open(job_.world(0), Device{0, "fake", "GPU-0"}, kPatience);
  }

  FakeJob job_{1};
  bool stuck_ = false;  // NCCL never stops handle_
  const std::shared_ptr<NcclHandle> handle_ =
      NcclHandle::Open(job_.world(0), Device{0, "fake", "GPU-0"}, kPatience);
};

TEST_F(StopperTest, DoesNotPollForAThreadThatStaysInside) {
  absl::Notification inside, go_on;
  std::thread owner([&] {
    const absl::Status status = handle_->Grouped([&] {
      inside.Notify();
      go_on.WaitForNotification();
      return absl::OkStatus();
    });
    EXPECT_EQ(status, absl::AbortedError("lost")) << "it has ended meanwhile";
  });
  inside.WaitForNotification();
  const int threads = Threads();
  handle_->Fail(absl::AbortedError("lost"));
  EXPECT_TRUE(testing::WaitUntil([&] { return Threads() == threads; }, kPatience));
  // Freeing another communicator would wait for the work of this one.
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
  EXPECT_THAT(std::string(status.message()), HasSubstr("something other than a std::exception"));
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

// ncclCommAbort hangs like this if a CUDA graph has captured an operation of the communicator.
TEST_F(StopperTest, AnAbortThatNeverReturnsKeepsNoOtherCommunicatorWaiting) {
  const std::shared_ptr<NcclHandle> other = OpenAnother();
  Initialize(*handle_);
  Initialize(*other);
  fake_nccl::SetFaults("revoke-error,abort-hang@1");
  stuck_ = true;
  handle_->Fail(absl::DeadlineExceededError("the first"));
  ASSERT_TRUE(testing::WaitUntil([&] { return handle_->comm() == nullptr; }, kPatience));
  other->Fail(absl::AbortedError("the second"));
  EXPECT_TRUE(other->AwaitStopped(After(SteadyClock::now(), NcclHandle::kStopWait)));
  EXPECT_FALSE(handle_->AwaitStopped(SteadyClock::now()));
  other->Discard(absl::AbortedError("the second"), SteadyClock::now());
}

TEST_F(StopperTest, ARevocationThatFailsIsNotAStop) {
  Initialize(*handle_);
  fake_nccl::SetFaults("revoke-late-error,abort-hang");
  stuck_ = true;
  handle_->Fail(absl::AbortedError("lost"));
  ASSERT_TRUE(testing::WaitUntil([&] { return handle_->comm() == nullptr; }, kPatience))
      << "it was not aborted";
  EXPECT_FALSE(handle_->AwaitStopped(SteadyClock::now()));
}

TEST_F(StopperTest, ACommunicatorWhoseRevocationFailsIsAborted) {
  Initialize(*handle_);
  fake_nccl::SetFaults("revoke-late-error");
  handle_->Fail(absl::AbortedError("lost"));
  EXPECT_TRUE(handle_->AwaitStopped(Soon()));
  EXPECT_EQ(handle_->comm(), nullptr) << "ncclCommAbort frees it";
}

TEST_F(StopperTest, ACallThatBlocksInsideNcclBlocksNoOtherCall) {
  absl::Notification inside, go_on;
  std::thread owner([&] {
    const absl::Status status =
        handle_->Run("blocking", Deadline(kPatience, nullptr), [&](ncclComm_t) {
          inside.Notify();
          go_on.WaitForNotification();
          return ncclSuccess;
        });
    EXPECT_EQ(status, absl::AbortedError("lost"));
  });
  inside.WaitForNotification();
  EXPECT_EQ(handle_->Poll("looking"), absl::OkStatus());
  handle_->Fail(absl::AbortedError("lost"));
  EXPECT_EQ(handle_->health(), absl::AbortedError("lost"));
  go_on.Notify();
  owner.join();
  EXPECT_TRUE(handle_->AwaitStopped(Soon()));
}

TEST_F(StopperTest, StopsCommunicatorsIfNoThreadCanStart) {
  const std::shared_ptr<NcclHandle> other = OpenAnother();
  const testing::ThreadLimit none(0);
  handle_->Fail(absl::AbortedError("the first"));
  other->Fail(absl::AbortedError("the second"));
  EXPECT_TRUE(handle_->AwaitStopped(Soon()));
  EXPECT_TRUE(other->AwaitStopped(Soon()));
  EXPECT_TRUE(none.reached());
  other->Discard(absl::AbortedError("the second"), Soon());
}

TEST(FreeOnDeviceTest, FreesLaterIfNoThreadCanStart) {
  absl::Notification first, second;
  {
    const testing::ThreadLimit none(0);
    FreeOnDevice(0, "the first", [&] { first.Notify(); });
    EXPECT_FALSE(first.HasBeenNotified());
  }
  FreeOnDevice(0, "the second", [&] { second.Notify(); });
  EXPECT_TRUE(second.HasBeenNotified());
  first.WaitForNotification();
}

}  // namespace
}  // namespace muster::internal
