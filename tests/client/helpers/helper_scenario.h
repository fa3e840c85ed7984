#ifndef MUSTER_TESTS_CLIENT_HELPERS_HELPER_SCENARIO_H_
#define MUSTER_TESTS_CLIENT_HELPERS_HELPER_SCENARIO_H_

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {

// Ranks on each node.
inline constexpr int kPerNode = 2;

// Returns the steps of a rank that does what `words` say (tests/rank/helper_steps.cc) and leaves.
// Without leaving, a rank that got an error would count as lost.
inline Args Scenario(const Args& words) {
  return RankCommand({"quiet", absl::StrCat("note:help=", absl::StrJoin(words, ",")), "leave"});
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_HELPERS_HELPER_SCENARIO_H_
