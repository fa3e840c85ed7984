#include <iostream>
#include <string>
#include <vector>

#include "muster/muster.h"

absl::Status Train(muster::Job& job, int steps) {
  auto communicator = muster::Communicator::Create(job);  // NCCL on GPUs, Gloo on CPUs
  if (!communicator.ok()) return communicator.status();
  std::vector<float> gradients(1000, static_cast<float>(job.rank()));
  for (int step = 1; step <= steps; ++step) {
    // Tensors move from rank to rank.
    absl::Status reduced = (*communicator)->AllReduce(gradients, muster::ReduceOp::kAverage);
    if (!reduced.ok()) return reduced;
    // Barriers and small objects go through musterd. Errors name the missing rank, node and cause.
    absl::Status met = job.Barrier("step " + std::to_string(step));
    if (!met.ok()) return met;
  }
  std::cout << "rank " << job.rank() << " of " << job.world_size() << " on node rank "
            << job.node_rank() << ": average " << gradients[0] << std::endl;
  return job.Leave();
}

int main(int argc, char** argv) {
  auto job = muster::Job::Join(muster::JobOptions::FromEnvironment());
  absl::Status status = job.ok() ? Train(**job, argc > 1 ? std::stoi(argv[1]) : 1) : job.status();
  if (!status.ok()) std::cerr << status.message() << std::endl;
  return muster::ExitCode(status);
}
