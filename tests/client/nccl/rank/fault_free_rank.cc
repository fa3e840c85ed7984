// A rank with the scenarios without faults, for real GPUs.

#include <string>
#include <vector>

#include "tests/client/nccl/rank/nccl_scenario.h"

int main(int argc, char** argv) {
  return muster::testing::RunRank(std::vector<std::string>(argv + 1, argv + argc),
                                  muster::testing::FaultFreeScenarios());
}
