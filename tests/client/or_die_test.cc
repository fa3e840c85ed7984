// Tests of how a program ends that uses OrDie().
#include "muster/or_die.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "muster/exit_code.h"
#include "muster/job.h"
#include "tests/util/process/process.h"

namespace muster {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;

std::unique_ptr<Job> JoinSerial() {
  JobOptions options;
  options.job = "train";
  return OrDie(Job::Join(options));
}

TEST(OrDieTest, ReturnsItsArgument) {
  OrDie(absl::OkStatus());
  const std::unique_ptr<Job> job = JoinSerial();
  OrDie(job->Barrier("loaded"));
  EXPECT_EQ(OrDie(job->AllReduce(7)), 7);
}

TEST(OrDieTest, AnErrorEndsTheProcessWithTheExitCodeForIt) {
  const std::unique_ptr<Job> job = JoinSerial();
  EXPECT_EXIT(OrDie(absl::AbortedError("rank 3 was lost")), ExitedWithCode(kExitPeerLost),
              "^rank 0 of job 'train' \\(or_die_test.cc:[0-9]+\\): rank 3 was lost\n$");
  const absl::StatusOr<int> refused = job->Broadcast(1, 5);
  EXPECT_EXIT(OrDie(refused), ExitedWithCode(kExitBadConfiguration), "root 5 is out of range");
  EXPECT_EXIT(OrDie(absl::InternalError("job 'train': a bug")), ExitedWithCode(1),
              "^rank 0 \\(or_die_test.cc:[0-9]+\\): job 'train': a bug\n$");
}

TEST(OrDieTest, WithoutAJobTheProcessIsNoRank) {
  JobOptions options;
  options.world_size = 2;  // but no coordinator
  EXPECT_EXIT(OrDie(Job::Join(options)), ExitedWithCode(kExitBadConfiguration),
              "^process \\(or_die_test.cc:[0-9]+\\): .*no coordinator is named");
}

TEST(OrDieTest, OutputIsFlushedAndTheSchedulerLearnsTheReason) {
  const std::string path = testing::MakeTempDir() + "/termination-log";
  setenv("MUSTER_TERMINATION_LOG", path.c_str(), 1);
  EXPECT_EXIT(
      {
        std::fclose(stdout);
        stdout = std::fopen((path + ".out").c_str(), "w");
        std::fputs("step 1", stdout);
        OrDie(absl::AbortedError("rank 3 was lost"));
      },
      ExitedWithCode(kExitPeerLost), "rank 3 was lost");
  unsetenv("MUSTER_TERMINATION_LOG");
  EXPECT_THAT(testing::ReadFile(path), HasSubstr("rank 3 was lost"));
  EXPECT_EQ(testing::ReadFile(path + ".out"), "step 1");
}

}  // namespace
}  // namespace muster
