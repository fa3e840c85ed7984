// Tests of every operation and type, in real processes.

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/nccl/nccl_job.h"

namespace muster::testing {
namespace {

class NcclSizes : public ::testing::TestWithParam<int> {};

TEST_P(NcclSizes, EveryOperationAndTypeOnTheDevice) {
  NcclJob::Start(GetParam(), {"device-values"})->ExpectAll(kSuccess);
}

TEST_P(NcclSizes, EveryOperationOnTheHostsMemory) {
  NcclJob::Start(GetParam(), {"host-values"})->ExpectAll(kSuccess);
}

// The fake ends the process if nothing orders an operation and the caller's work on the same data.
TEST_P(NcclSizes, OperationsAreOrderedWithTheCallersStream) {
  NcclJob::Start(GetParam(), {"stream-order"})->ExpectAll(kSuccess);
}

INSTANTIATE_TEST_SUITE_P(Ranks, NcclSizes, ::testing::Values(1, 2, 3, 4));

TEST(NcclValues, RejectedCallsLeaveTheCommunicatorUsable) {
  NcclJob::Start(2, {"refusals"})->ExpectAll(kSuccess);
}

// NCCL uses several ids above 128 ranks. Here a smaller job does.
TEST(NcclValues, SeveralIdsMakeOneCommunicator) {
  for (const char* ranks_per_id : {"1", "2", "3"}) {
    NcclJob::Start(4, {"device-values"}, {{"MUSTER_NCCL_RANKS_PER_ID", ranks_per_id}})
        ->ExpectAll(kSuccess);
  }
}

TEST(NcclValues, NcclGetsItsOwnConfiguration) {
  NcclJob::Start(2, {"configuration"})->ExpectAll(kSuccess);
}

TEST(NcclValues, SplitsWork) { NcclJob::Start(4, {"splits"})->ExpectAll(kSuccess); }

// GPUs with NVLink use each other's memory, which cuMem shares between processes.
TEST(NcclValues, ThroughTheMemoryOfEachOthersGpus) {
  for (const char* cumem : {"0", "1"}) {
    NcclJob::Start(
        3, {"device-values"},
        {{"FAKE_CUDA_PEER_ACCESS", "1"}, {"NCCL_P2P_LEVEL", "SYS"}, {"NCCL_CUMEM_ENABLE", cumem}})
        ->ExpectAll(kSuccess);
  }
}

// The ranks are on two nodes, where NCCL's threads send what a kernel has left for them.
TEST(NcclValues, DataOfARootThatEndsAtOnceArrives) {
  NcclJob::Start(2, {"rounds", "rounds=5", "broadcast=1"},
                 {{"MUSTER_TEST_NCCL_FAULTS", "slow-proxy"}},
                 {{0, {{"NCCL_HOSTID", "node-0"}}}, {1, {{"NCCL_HOSTID", "node-1"}}}})
      ->ExpectAll(kSuccess);
}

TEST(NcclValues, ManyRoundsLeaveNothingBehind) {
  NcclJob::Start(2, {"rounds", "rounds=100"})->ExpectAll(kSuccess);
  NcclJob::Start(2, {"rounds", "rounds=20", "host=1"})->ExpectAll(kSuccess);
}

}  // namespace
}  // namespace muster::testing
