#ifndef MUSTER_TESTS_BENCH_COMMON_SIMULATED_NETWORK_H_
#define MUSTER_TESTS_BENCH_COMMON_SIMULATED_NETWORK_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::testing {

// Network namespaces of Linux, each with one address, which stand for nodes. A thread carries their
// packets, and delays each. (netem would do that, too, but not every kernel has it.)
//
//   const auto network = SimulatedNetwork::Create(2, absl::Microseconds(100));
//   const SimulatedNetwork::Visit visit(network->get(), 1);
//   Process::Start(...)  // is on node 1
class SimulatedNetwork {
 public:
  // A while in which the calling thread, and the processes that it starts, are on a node. Without a
  // network, they stay where they are.
  class Visit {
   public:
    Visit(const SimulatedNetwork* network, int node);
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    const int home_;
  };

  // `latency` is the time of a packet to another node. Without root's rights, moves this process
  // into a user namespace, for which it must have one thread only. The error of a machine that
  // allows none of this says what is needed.
  static absl::StatusOr<std::unique_ptr<SimulatedNetwork>> Create(int nodes,
                                                                  absl::Duration latency);
  // End all processes on the nodes first.
  ~SimulatedNetwork();

  // Returns the address of a node, "10.77.0.1"; without a network, the loopback's.
  static std::string AddressOf(const SimulatedNetwork* network, int node);

 private:
  struct Node {
    int space = -1;   // its namespace
    int device = -1;  // a TUN device, from which its packets are read
  };

  explicit SimulatedNetwork(absl::Duration latency) : latency_(latency) {}
  absl::Status AddNode(int number);
  static absl::Status MakeDevice(int number, Node* node);
  void Carry();

  const absl::Duration latency_;
  std::vector<Node> nodes_;
  int stop_ = -1;  // an eventfd, which ends the thread
  std::thread carrier_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_COMMON_SIMULATED_NETWORK_H_
