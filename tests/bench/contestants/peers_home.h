#ifndef MUSTER_TESTS_BENCH_CONTESTANTS_PEERS_HOME_H_
#define MUSTER_TESTS_BENCH_CONTESTANTS_PEERS_HOME_H_

#include <string>

namespace muster::testing {

// The Python for which tools/peers installs wheels.
constexpr char kPeersPython[] = "/usr/bin/python3";

// Returns the folder where tools/peers has installed PyTorch and JAX, or "" if it has not.
std::string PeersHome();
// Returns the version of "torch" or "jaxlib" there, or "".
std::string PeerVersion(const std::string& package);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_CONTESTANTS_PEERS_HOME_H_
