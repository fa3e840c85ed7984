// Tests of communicators made from others, on NCCL's own host code.

#include <signal.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/nccl/nccl_job.h"
#include "tests/nccl/libraries.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kShare[] = "NCCL_COMM_SPLIT_SHARE_RESOURCES";
constexpr char kFaults[] = "MUSTER_TEST_NCCL_FAULTS";

TEST(NcclSplit, MakesCommunicatorsOfParts) { NcclJob::Start(4, {"splits"})->ExpectAll(kSuccess); }

// The parts, and the ranks in no part, hold what the parent holds.
TEST(NcclSplit, MakesCommunicatorsThatShareResources) {
  NcclJob::Start(4, {"splits"}, {{kShare, "1"}})->ExpectAll(kSuccess);
}

TEST(NcclSplit, WithoutSharingTheOtherCommunicatorContinues) {
  for (const char* ends : {"ends=child", "ends=parent"}) {
    auto job = NcclJob::Start(2, {"end-one-of-two", ends}, {{kShare, "0"}});
    for (int rank : {0, 1}) {
      EXPECT_THAT(job->OutputOf(rank, kSuccess),
                  AllOf(HasSubstr("the other goes on"), Not(HasSubstr("is freed later, if ever"))));
    }
  }
}

void ExpectTheOtherEnds(const Args& scenario, const Variables& env) {
  auto job = NcclJob::Start(2, scenario, env);
  EXPECT_THAT(job->OutputOf(0, kSuccess),
              AllOf(HasSubstr("the other ended: DEADLINE_EXCEEDED"), HasSubstr("share resources")));
  job->OutputOf(1, kSuccess);
}

TEST(NcclSplit, CommunicatorsThatShareByTheConfigurationEndTogether) {
  for (const char* ends : {"ends=child", "ends=parent"}) {
    ExpectTheOtherEnds({"end-one-of-two", ends, "configured=1", "together=1"}, {});
  }
}

TEST(NcclSplit, CommunicatorsThatShareByTheEnvironmentEndTogether) {
  ExpectTheOtherEnds({"end-one-of-two", "ends=child", "together=1"}, {{kShare, "1"}});
}

// NCCL before 2.23 reads only the files of the user and of the machine.
TEST(NcclSplit, CommunicatorsThatShareByAFileEndTogether) {
  const std::string file = absl::StrCat(::testing::TempDir(), "/nccl.conf");
  std::ofstream(file) << kShare << "=1\n";
  const Variables env = {{"NCCL_CONF_FILE", file}};
  if (NcclVersionCode() >= 22300) {
    ExpectTheOtherEnds({"end-one-of-two", "ends=child", "together=1"}, env);
  } else {
    NcclJob::Start(2, {"end-one-of-two", "ends=child"}, env)->ExpectAll(kSuccess);
  }
}

// Rank 3 is in no part. NCCL itself does not survive its loss.
TEST(NcclSplit, ARankThatIsLostInTheMiddleEndsTheOthers) {
  auto job = NcclJob::Start(4, {"splits"}, kNcclLeaksHere, {{1, {{kFaults, "split-die"}}}});
  job->OutputOf(1, Exit{true, SIGKILL});
  for (int rank : {0, 2, 3}) {
    EXPECT_THAT(job->OutputOf(rank, kRankError), HasSubstr(job->LossOf(1)));
  }
}

TEST(NcclSplit, AnAbortThatNeverReturnsKeepsNoOtherCommunicatorWaiting) {
  auto job = NcclJob::Start(2, {"end-beside-a-hang"}, {{"MUSTER_TIMEOUT", "20s"}},
                            {{0, {{kFaults, "abort-hang"}}}});
  EXPECT_THAT(job->OutputOf(0, kSuccess),
              AllOf(HasSubstr("the second ended: DEADLINE_EXCEEDED"),
                    Not(ContainsRegex("the second ended: [^\n]*NCCL has not stopped"))));
  job->OutputOf(1, kSuccess);
}

}  // namespace
}  // namespace muster::testing
