#ifndef MUSTER_TESTS_CLIENT_NCCL_WATCHED_RANK_H_
#define MUSTER_TESTS_CLIENT_NCCL_WATCHED_RANK_H_

#include <cstdlib>
#include <memory>
#include <vector>

#include "common/memory/activity_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

// Access to what a launcher sees of a rank's communicators.
namespace muster::testing {

// Gives the calling rank memory for its activity, as a launcher does, and returns the activity.
inline std::unique_ptr<ActivityReader> PublishActivity() {
  std::unique_ptr<ActivityReader> activity = ActivityReader::Make().value();
  setenv("MUSTER_ACTIVITY_FILE", activity->path().c_str(), 1);
  return activity;
}

inline CommunicatorActivity OnlyCommunicator(const ActivityReader& activity) {
  const std::vector<CommunicatorActivity> all = activity.Read();
  EXPECT_THAT(all, ::testing::SizeIs(1));
  return all.empty() ? CommunicatorActivity() : all[0];
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_NCCL_WATCHED_RANK_H_
