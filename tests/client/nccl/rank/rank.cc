// The rank program of the tests of client/nccl. Its steps are their scenarios.

#include <string>
#include <vector>

#include "tests/client/nccl/rank/nccl_scenario.h"

namespace muster::testing {
namespace {

Steps AllScenarios() {
  Steps scenarios = FaultFreeScenarios();
  scenarios.insert({
      {"configuration", ScenarioStep(Configuration)},
      {"one-split", ScenarioStep(OneSplit)},
      {"create", ScenarioStep(CreateOne)},
      {"reduce-forever", ScenarioStep(ReduceForever)},
      {"reduce-once", ScenarioStep(ReduceOnce)},
      {"host-reduce-once", ScenarioStep(HostReduceOnce)},
      {"give-up-first", ScenarioStep(GiveUpFirst)},
      {"operate-until-loss", ScenarioStep(OperateUntilLoss)},
      {"grow-beside-a-hang", ScenarioStep(GrowBesideAHang)},
      {"helpers", ScenarioStep(Helpers)},
      {"device", ScenarioStep(ShowDevice)},
      {"rounds", ScenarioStep(Rounds)},
  });
  return scenarios;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  return muster::testing::RunRank(std::vector<std::string>(argv + 1, argv + argc),
                                  muster::testing::AllScenarios());
}
