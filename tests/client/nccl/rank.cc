// The rank program of the tests of client/nccl. Its steps are their scenarios.

#include <string>
#include <vector>

#include "tests/client/nccl/nccl_scenario.h"

namespace muster::testing {
namespace {

Steps Scenes() {
  Steps scenes = FaultFreeScenes();
  scenes.insert({
      {"configuration", Scene(Configuration)},
      {"one-split", Scene(OneSplit)},
      {"create", Scene(CreateOne)},
      {"reduce-forever", Scene(ReduceForever)},
      {"reduce-once", Scene(ReduceOnce)},
      {"host-reduce-once", Scene(HostReduceOnce)},
      {"give-up-first", Scene(GiveUpFirst)},
      {"operate-until-loss", Scene(OperateUntilLoss)},
      {"grow-beside-a-hang", Scene(GrowBesideAHang)},
      {"helpers", Scene(Helpers)},
      {"device", Scene(ShowDevice)},
      {"rounds", Scene(Rounds)},
  });
  return scenes;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  return muster::testing::RunRank(std::vector<std::string>(argv + 1, argv + argc),
                                  muster::testing::Scenes());
}
