// Tests of an NCCL or a rank that misbehaves without dying. Every rank's call must end before its
// deadline, with an error that says where.

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/nccl/nccl_job.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// The communicator's time-out. The job's own is 60 s.
constexpr char kTimeout[] = "timeout=4";

std::unique_ptr<NcclJob> StartWith(const std::string& scenario, const std::string& faults_of_1,
                                   std::vector<std::string> more = {kTimeout}) {
  more.insert(more.begin(), scenario);
  return NcclJob::Start(3, more, {}, FaultOf(1, faults_of_1));
}

// ---- Init ----

// NCCL does not say which rank it waits for, so the ranks tell each other that initialization did
// not end.
TEST(NcclMisbehaviour, InitThatNeverCompletes) {
  std::vector<std::unique_ptr<NcclJob>> jobs;
  for (const char* fault : {"init-hang", "init-absent", "same-rank"}) {
    jobs.push_back(StartWith("create", fault));
  }
  for (const std::unique_ptr<NcclJob>& job : jobs) {
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_THAT(job->OutputOf(rank, kRankError),
                  AllOf(HasSubstr("error: DEADLINE_EXCEEDED: initializing NCCL"),
                        HasSubstr(job->NameOf(rank)), HasSubstr("the same on ranks 0-2 of 3")));
    }
  }
}

TEST(NcclMisbehaviour, AMissingRankIsNamed) {
  auto job = NcclJob::Start(2, {"create", "absent=1", "timeout=2"});
  EXPECT_THAT(job->OutputOf(0, kRankError),
              AllOf(HasSubstr("error: DEADLINE_EXCEEDED"), HasSubstr("missing 1 of 2: rank 1")));
}

TEST(NcclMisbehaviour, InitThatFailsOnOneRank) {
  for (const char* fault : {"init-error", "init-refuse"}) {
    auto job = StartWith("create", fault);
    EXPECT_THAT(job->OutputOf(1, kRankError),
                AllOf(HasSubstr("error: UNAVAILABLE: initializing NCCL"), HasSubstr(job->NameOf(1)),
                      HasSubstr("NCCL says: unhandled system error"),
                      HasSubstr("NCCL's last error in this process: ")));
    for (int rank : {0, 2}) EXPECT_THAT(job->OutputOf(rank, kRankError), HasSubstr("rank 1 (node"));
  }
}

TEST(NcclMisbehaviour, InitThatFailsOnAllRanks) {
  auto job = NcclJob::Start(2, {"create", kTimeout}, {{"FAKE_NCCL_FAULTS", "init-error"}});
  for (int rank : {0, 1}) {
    EXPECT_THAT(job->OutputOf(rank, kRankError),
                AllOf(HasSubstr("error: UNAVAILABLE"), HasSubstr(job->NameOf(rank))));
  }
}

TEST(NcclMisbehaviour, OutOfDeviceMemory) {
  auto job = NcclJob::Start(2, {"create", kTimeout}, {{"FAKE_CUDA_MEMORY", "1000"}});
  EXPECT_THAT(job->OutputOf(0, kRankError),
              AllOf(HasSubstr("error: INTERNAL: initializing NCCL"), HasSubstr("'out of memory'")));
}

TEST(NcclMisbehaviour, AnIdThatCannotBeCreated) {
  auto job = NcclJob::Start(3, {"create", kTimeout}, {}, FaultOf(0, "id-error"));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(job->OutputOf(rank, kRankError),
                HasSubstr(absl::StrCat("error: FAILED_PRECONDITION: ", job->NameOf(0),
                                       " could not create an NCCL id: ncclGetUniqueId: ")));
  }
}

TEST(NcclMisbehaviour, OneOfSeveralIdsThatCannotBeCreated) {
  auto job = NcclJob::Start(4, {"create", kTimeout}, {{"MUSTER_NCCL_RANKS_PER_ID", "2"}},
                            FaultOf(2, "id-error"));
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(job->OutputOf(rank, kRankError),
                HasSubstr(absl::StrCat(job->NameOf(2), " could not create an NCCL id")));
  }
}

TEST(NcclMisbehaviour, ASlowIdIsWaitedForUntilTheDeadline) {
  NcclJob::Start(2, {"create"}, {}, FaultOf(0, "id-slow=500"))->ExpectAll(kSuccess);
  auto job = NcclJob::Start(2, {"create", "timeout=2"}, {}, FaultOf(0, "id-slow=4000"));
  EXPECT_THAT(job->OutputOf(1, kRankError),
              AllOf(HasSubstr("error: DEADLINE_EXCEEDED"), HasSubstr("missing 1 of 2: rank 0")));
  job->OutputOf(0, kRankError);
}

TEST(NcclMisbehaviour, CancellingEndsTheInit) {
  auto job = StartWith("create", "init-absent", {"cancel=0.5"});
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(job->OutputOf(rank, kRankError), HasSubstr("error: CANCELLED: "));
  }
}

// ---- Operations ----

TEST(NcclMisbehaviour, AnOperationThatNeverCompletes) {
  auto job = StartWith("reduce-once", "op-hang");
  // Ranks that still wait name the rank that gave up first.
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(job->OutputOf(rank, kSuccess),
                AllOf(HasSubstr("ended: DEADLINE_EXCEEDED"), HasSubstr(job->NameOf(rank)),
                      AnyOf(HasSubstr("did not end within 4s"),
                            HasSubstr("has stopped NCCL for this communicator"))));
  }
}

TEST(NcclMisbehaviour, AnAsynchronousError) {
  auto job = StartWith("reduce-once", "op-error");
  EXPECT_THAT(job->OutputOf(1, kSuccess),
              AllOf(HasSubstr("ended: UNAVAILABLE"), HasSubstr(job->NameOf(1)),
                    HasSubstr("NCCL says: remote process exited or there was a network error"),
                    HasSubstr("Got completion from peer with status=12")));
  for (int rank : {0, 2}) {
    EXPECT_THAT(job->OutputOf(rank, kSuccess), HasSubstr("ended: DEADLINE_EXCEEDED"));
  }
}

TEST(NcclMisbehaviour, AnOperationThatNcclRejects) {
  auto job = StartWith("reduce-once", "op-refuse");
  EXPECT_THAT(job->OutputOf(1, kSuccess),
              AllOf(HasSubstr("ended: UNAVAILABLE: AllReduce of 65536 float32 (sum)"),
                    HasSubstr(job->NameOf(1)), HasSubstr("Unhandled proxy error")));
}

// Rank 1 does not call the operation. NCCL waits for the first operation on the host, and for later
// ones on the device. The process's other communicator goes on.
TEST(NcclMisbehaviour, AnOperationThatOneRankDoesNotCall) {
  for (const char* warm : {"warm=1", "cold=1"}) {
    auto job = NcclJob::Start(2, {"reduce-once", "absent=1", "timeout=2", "others=1", warm});
    EXPECT_THAT(job->OutputOf(0, kSuccess), AllOf(HasSubstr("ended: DEADLINE_EXCEEDED"),
                                                  HasSubstr("another communicator goes on")));
    EXPECT_THAT(job->OutputOf(1, kSuccess), HasSubstr("another communicator goes on"));
  }
}

TEST(NcclMisbehaviour, CancellingEndsAWait) {
  auto job = NcclJob::Start(2, {"reduce-once", "absent=1", "timeout=3", "cancel=0.2", "warm=1"});
  EXPECT_THAT(job->OutputOf(0, kSuccess), HasSubstr("ended: CANCELLED: waiting for the stream"));
  job->OutputOf(1, kSuccess);
}

TEST(NcclMisbehaviour, CommunicatorCallsEndInTheSameWay) {
  auto job = NcclJob::Start(2, {"host-reduce-once", "absent=1", "timeout=2"});
  EXPECT_THAT(job->OutputOf(0, kSuccess),
              HasSubstr("ended: DEADLINE_EXCEEDED: AllReduce of 1 float32"));
  job =
      NcclJob::Start(2, {"host-reduce-once", "absent=1", "cancel=0.2"}, {{"MUSTER_TIMEOUT", "5s"}});
  EXPECT_THAT(job->OutputOf(0, kSuccess), HasSubstr("ended: CANCELLED: AllReduce of 1 float32"));
}

// A communicator takes 1 MiB, and the operation's staging buffer another.
TEST(NcclMisbehaviour, NoMemoryForAnOperation) {
  auto job = NcclJob::Start(2, {"host-reduce-once", "count=300000"},
                            {{"FAKE_CUDA_MEMORY", "2000000"}, {"MUSTER_TIMEOUT", "5s"}});
  for (int rank : {0, 1}) {
    EXPECT_THAT(job->OutputOf(rank, kSuccess),
                AllOf(HasSubstr("ended: INTERNAL: "), HasSubstr("out of memory")));
  }
}

TEST(NcclMisbehaviour, AnOperationThatNcclRejectsInAGroup) {
  auto job = StartWith("reduce-once", "op-refuse@2", {kTimeout, "grouped=1"});
  EXPECT_THAT(job->OutputOf(1, kSuccess),
              AllOf(HasSubstr("ended: UNAVAILABLE"), HasSubstr("Unhandled proxy error")));
}

TEST(NcclMisbehaviour, AnOperationCancelledBeforeItBeginsSendsNothing) {
  auto job = NcclJob::Start(2, {"host-reduce-once", "cancel=0"}, {{"MUSTER_TIMEOUT", "5s"}});
  for (int rank : {0, 1}) {
    EXPECT_THAT(job->OutputOf(rank, kSuccess), HasSubstr("was cancelled before it began"));
  }
}

// ---- CUDA ----

TEST(NcclMisbehaviour, ADeviceThatFailsInTheMiddleOfAnOperation) {
  auto job = NcclJob::Start(2, {"reduce-once", kTimeout}, {},
                            {{1, {{"FAKE_CUDA_ERRORS", "cudaStreamQuery=700@1"}}}});
  EXPECT_THAT(job->OutputOf(1, kSuccess),
              AllOf(HasSubstr("ended: INTERNAL: "), HasSubstr(job->NameOf(1)),
                    HasSubstr("an illegal memory access was encountered"),
                    HasSubstr("restart the process; no process of the job is known to be lost")));
}

TEST(NcclMisbehaviour, ADeviceThatCannotBeOpened) {
  for (const char* errors : {"cudaGetDeviceCount=999", "cudaSetDevice=101"}) {
    auto job = NcclJob::Start(2, {"create", kTimeout}, {}, {{1, {{"FAKE_CUDA_ERRORS", errors}}}});
    EXPECT_THAT(job->OutputOf(1, kRankError), HasSubstr("error: ")) << errors;
    EXPECT_THAT(job->OutputOf(0, kRankError), HasSubstr(job->NameOf(1))) << errors;
  }
}

// ---- Other calls ----

// No call waits for ever for an NCCL that does not stop either. Memory that it may still use is not
// freed.
TEST(NcclMisbehaviour, RevokingThatNeverCompletes) {
  const Variables env = {{"FAKE_NCCL_FAULTS", "revoke-hang"}, {"MUSTER_TIMEOUT", "30s"}};
  auto device =
      NcclJob::Start(2, {"reduce-once", "absent=1", "timeout=1", "warm=1", "stuck=1"}, env);
  auto host =
      NcclJob::Start(2, {"host-reduce-once", "absent=1", "timeout=1", "count=10", "warm=1"}, env);
  for (NcclJob* job : {device.get(), host.get()}) {
    EXPECT_THAT(job->OutputOf(0, kSuccess),
                AllOf(HasSubstr("ended: DEADLINE_EXCEEDED"),
                      HasSubstr("buffers that were given to it may still be in use"),
                      HasSubstr("is freed later, if ever")));
  }
}

TEST(NcclMisbehaviour, ASplitThatFailsOnOneRankFailsOnAll) {
  auto job = StartWith("one-split", "child-error");
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(job->OutputOf(rank, kRankError),
                AllOf(HasSubstr("rank 1"), HasSubstr("no communicator is left")));
  }
}

// CUDA frees nothing until the device is idle, and that may never happen.
TEST(NcclMisbehaviour, NothingWaitsForAHangingKernel) {
  auto job = NcclJob::Start(2, {"grow-beside-a-hang"});
  EXPECT_THAT(job->OutputOf(0, kSuccess), HasSubstr("is freed later: GPU 0"));
  job->OutputOf(1, kSuccess);
}

TEST(NcclMisbehaviour, ASplitIntoPartsThatDisagreeNamesTheRanksAndHarmsNothing) {
  auto job = NcclJob::Start(3, {"one-split", "wrong=2"});
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(job->OutputOf(rank, kRankError),
                AllOf(HasSubstr("split: FAILED_PRECONDITION: rank 0"), HasSubstr("rank 2"),
                      HasSubstr("parent: OK")));
  }
}

TEST(NcclMisbehaviour, FinalizingThatHangsOrFailsEndsAtTheTimeout) {
  for (const char* fault : {"finalize-hang@1", "finalize-error@1"}) {
    auto job =
        NcclJob::Start(2, {"reduce-once", "timeout=2", "warm=1"}, {{"FAKE_NCCL_FAULTS", fault}});
    job->ExpectAll(kSuccess);
  }
}

}  // namespace
}  // namespace muster::testing
