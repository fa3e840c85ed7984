// Measures what programs on several nodes pay for the control plane. Each node is a network
// namespace, and each packet between two of them is delayed. Real processes of Muster take turns
// with bare gRPC and with PyTorch's TCPStore, whose services all are on the first node, as
// control_plane.cc describes. data_plane.cc has collectives of tensors in the same network.
#include "tests/bench/race.h"

namespace muster::testing {
namespace {

Race NodesRace() {
  Race race;
  race.name = "nodes";
  race.sides = {Side::kMuster, Side::kMusterApart, Side::kBare, Side::kTcpStore};
  race.operations = {{"barrier", "barrier", 0},
                     {"broadcast of 128 bytes", "broadcast", 128},
                     {"broadcast of 1 MiB", "broadcast", 1 << 20},
                     {"all-gather of 1 KiB", "all-gather", 1 << 10},
                     {"lease", "lease", 128}};
  race.tables = {{"", race.sides}};
  race.network = true;
  race.shapes = {{2, 8}, {4, 32}};
  return race;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  muster::testing::Race race = muster::testing::NodesRace();
  return muster::testing::RunRace(
      &race,
      "Muster's control plane on several nodes beside bare gRPC and PyTorch's TCPStore: real "
      "processes in network namespaces, in turns. tools/peers brings the last one. Needs root, or "
      "a machine that gives everybody namespaces.",
      argc, argv);
}
