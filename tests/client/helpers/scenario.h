#ifndef MUSTER_TESTS_CLIENT_HELPERS_SCENARIO_H_
#define MUSTER_TESTS_CLIENT_HELPERS_SCENARIO_H_

#include <string>
#include <vector>

#include "tests/util/ranks.h"

namespace muster::testing {

// Ranks share a node with one other.
inline constexpr int kPerNode = 2;

inline constexpr Exit kSuccess = {false, 0};
inline constexpr Exit kError = {false, 3};

// One rank that does what `arguments` say: rank.cc.
inline std::vector<std::string> Scenario(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {Runfile("tests/client/helpers/rank")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_HELPERS_SCENARIO_H_
