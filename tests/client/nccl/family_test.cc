// Tests which communicators end together. The handles have no NCCL communicators.

#include "client/nccl/communicator/family.h"

#include <cstdlib>

#include "client/nccl/communicator/handle.h"
#include "client/nccl/communicator/stopper.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/fakes/fake_job.h"

namespace muster::internal {
namespace {

using ::muster::testing::FakeJob;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kVariable[] = "NCCL_COMM_SPLIT_SHARE_RESOURCES";

class FamilyTest : public ::testing::Test {
 protected:
  FamilyTest() { EXPECT_TRUE(Stopper::Get().Start().ok()); }

  // Returns a handle that looks as if NCCL had initialized it.
  std::shared_ptr<NcclHandle> Open(int split_share) {
    return Ready(
        NcclHandle::Open(job_.world(0), Device{0, "fake", "GPU-0"}, absl::Minutes(1), split_share));
  }
  std::shared_ptr<NcclHandle> OpenChild(const NcclHandle& parent) {
    return Ready(parent.OpenChild(job_.world(0), nullptr));
  }
  void Free(NcclHandle& handle) {
    handle.Discard(absl::CancelledError("the test is over"),
                   After(SteadyClock::now(), absl::Minutes(1)));
  }

  FakeJob job_{1};

 private:
  std::shared_ptr<NcclHandle> Ready(std::shared_ptr<NcclHandle> handle) {
    const absl::Status status =
        handle->Initialize("initializing", Deadline(absl::Minutes(1), nullptr),
                           [](ncclComm_t*) { return ncclSuccess; });
    EXPECT_TRUE(status.ok()) << status;
    return handle;
  }
};

TEST_F(FamilyTest, AChildThatSharesEndsItsParentAndItsSiblings) {
  const auto parent = Open(/*split_share=*/1);
  const auto child = OpenChild(*parent);
  const auto grandchild = OpenChild(*child);
  child->Fail(absl::DeadlineExceededError("AllReduce did not end"));
  EXPECT_EQ(child->health(), absl::DeadlineExceededError("AllReduce did not end"));
  for (const auto& other : {parent, grandchild}) {
    EXPECT_EQ(other->health().code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(std::string(other->health().message()),
                AllOf(HasSubstr("AllReduce did not end; NCCL ended this communicator with"),
                      HasSubstr("share resources")));
  }
  for (const auto& handle : {parent, child, grandchild}) Free(*handle);
}

TEST_F(FamilyTest, WithoutSharingAChildEndsAlone) {
  const auto parent = Open(/*split_share=*/0);
  const auto child = OpenChild(*parent);
  child->Fail(absl::DeadlineExceededError("AllReduce did not end"));
  EXPECT_TRUE(parent->health().ok()) << parent->health();
  Free(*child);
  Free(*parent);
}

TEST_F(FamilyTest, ClosingTheChildOrTheParentEndsNoOther) {
  const auto parent = Open(/*split_share=*/1);
  const auto child = OpenChild(*parent);
  const auto other = OpenChild(*parent);
  child->Close(Deadline(absl::Minutes(1), nullptr));
  EXPECT_TRUE(parent->health().ok()) << parent->health();
  parent->Close(Deadline(absl::Minutes(1), nullptr));
  EXPECT_TRUE(other->health().ok()) << other->health();
  Free(*other);
}

// This test comes last: NCCL and the SDK read the variable once in a process.
TEST(SharesResources, FollowsTheConfigurationAndTheEnvironment) {
  EXPECT_FALSE(SharesResources(NCCL_CONFIG_UNDEF_INT));
  EXPECT_FALSE(SharesResources(0));
  EXPECT_TRUE(SharesResources(1));
  setenv("NCCL_ENV_PLUGIN", "none", 1);
  EXPECT_FALSE(SharesResources(0));
  setenv("NCCL_ENV_PLUGIN", "libother.so", 1);
  EXPECT_TRUE(SharesResources(0)) << "nobody can ask it";
  unsetenv("NCCL_ENV_PLUGIN");
  setenv(kVariable, "0", 1);
  EXPECT_FALSE(SharesResources(0));
  setenv(kVariable, "0x1", 1);
  EXPECT_TRUE(SharesResources(0));
  unsetenv(kVariable);
  EXPECT_TRUE(SharesResources(0)) << "NCCL may have read it";
}

}  // namespace
}  // namespace muster::internal
