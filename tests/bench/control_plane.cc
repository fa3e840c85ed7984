// Measures what programs pay for the control plane. Real processes use the public SDK with a real
// musterd, on one shared node or as if each had its own node. They take turns with the floor
// (blocking gRPC calls to a bare service that parks them), and with PyTorch's TCPStore and JAX's
// coordination service if tools/peers has installed these. All processes of all sides have the same
// layout of addresses. Other load on the machine affects all of them alike, so compare the ratios.
#include "tests/bench/race.h"

namespace muster::testing {
namespace {

Race ControlPlaneRace() {
  const auto beside_peers = [](Side first) {
    return std::vector<Side>{first, Side::kBare, Side::kTcpStore, Side::kTcpStoreKeys, Side::kJax};
  };
  Race race;
  race.name = "control_plane";
  race.sides = {Side::kMuster,   Side::kMusterByDaemon, Side::kMusterApart, Side::kBare,
                Side::kTcpStore, Side::kTcpStoreKeys,   Side::kJax};
  race.operations = {{"barrier", "barrier", 0},
                     {"broadcast of 128 bytes", "broadcast", 128},
                     {"broadcast of 1 MiB", "broadcast", 1 << 20},
                     {"all-gather of 1 KiB", "all-gather", 1 << 10},
                     {"lease", "lease", 128}};
  race.tables = {
      {"", beside_peers(Side::kMuster)},
      {"where musterd completes all collectives (MUSTER_NODE_COMMITS=0)",
       beside_peers(Side::kMusterByDaemon)},
      {"where each rank calls musterd, as if it were alone on its node (MUSTER_NODE_FANIN=0)",
       beside_peers(Side::kMusterApart)}};
  race.shapes = {{1, 2}, {1, 8}, {1, 32}, {1, 64}};
  return race;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  muster::testing::Race race = muster::testing::ControlPlaneRace();
  return muster::testing::RunRace(
      &race,
      "Muster's control plane beside bare gRPC, PyTorch's TCPStore and JAX's service: real "
      "processes, in turns. tools/peers brings the last two. All processes have the same layout of "
      "addresses, whether they are forks or programs of their own.",
      argc, argv);
}
