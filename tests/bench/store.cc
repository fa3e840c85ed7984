// Measures Muster's store beside PyTorch's TCPStore, with real processes in turns: the SDK's
// Job::store(), PyTorch's own client at the endpoint of `muster run --torch-store`, on one node and
// on two, and PyTorch's client with its own server.
#include "tests/bench/race.h"

namespace muster::testing {
namespace {

Race StoreRace() {
  Race race;
  race.name = "store";
  race.sides = {Side::kStore, Side::kEndpoint, Side::kEndpoints, Side::kTcpStore};
  race.operations = {{"get of 128 bytes", "get", 128},    {"set of 128 bytes", "set", 128},
                     {"set, then get", "set-get", 128},   {"add", "add", 0},
                     {"barrier", "barrier", 0},           {"mesh of 64 bytes", "mesh", 64},
                     {"mesh of Gloo's keys", "gloo", 170}};
  race.tables = {{"by the SDK", {Side::kStore, Side::kTcpStore}},
                 {"at the launcher's endpoint, on one node", {Side::kEndpoint, Side::kTcpStore}},
                 {"at the endpoints of two nodes", {Side::kEndpoints, Side::kTcpStore}}};
  race.shapes = {{1, 2}, {1, 8}, {1, 32}};
  return race;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  muster::testing::Race race = muster::testing::StoreRace();
  return muster::testing::RunRace(
      &race,
      "Muster's store beside PyTorch's TCPStore, which tools/peers brings: real processes, in "
      "turns. "
      "A mesh is what Gloo does to connect ranks: each sets a key, and gets all ranks' keys.",
      argc, argv);
}
