// The whole life of a rank: join, share a small object, all-reduce a tensor, meet, leave.
#include <iostream>
#include <vector>

#include "muster/communicator.h"
#include "muster/job.h"

absl::Status Run(muster::Job& job) {
  // Small objects travel through the coordinator: here rank 0's settings.
  absl::StatusOr<std::vector<double>> settings = job.Broadcast(std::vector<double>{0.1, 0.9});
  if (!settings.ok()) return settings.status();

  // Tensors move peer to peer.
  auto communicator = muster::Communicator::Create(job);
  if (!communicator.ok()) return communicator.status();
  std::vector<float> gradients(1000, static_cast<float>(job.rank()));
  absl::Status reduced =
      (*communicator)->AllReduce(absl::MakeSpan(gradients), muster::ReduceOp::kAverage);
  if (!reduced.ok()) return reduced;

  // An error of this names every rank that is missing, its node and why.
  if (absl::Status met = job.Barrier("step 1"); !met.ok()) return met;
  std::cout << "rank " << job.rank() << " of " << job.world_size() << " on node rank "
            << job.node_rank() << ": average " << gradients[0] << std::endl;
  return job.Leave();
}

int main() {
  auto job = muster::Job::Join(muster::JobOptions::FromEnvironment());
  const absl::Status status = job.ok() ? Run(**job) : job.status();
  if (!status.ok()) std::cerr << status.message() << std::endl;
  return status.ok() ? 0 : 1;
}
