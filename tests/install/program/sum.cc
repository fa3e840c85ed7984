// Rank 0 says what to count in, every rank brings its number, and all get the sum.
#include <iostream>
#include <string>
#include <vector>

#include "muster/muster.h"

absl::Status Run(muster::Job& job) {
  const absl::StatusOr<std::string> unit = job.Broadcast(std::string("apples"));
  if (!unit.ok()) return unit.status();
  auto communicator = muster::Communicator::Create(job);
  if (!communicator.ok()) return communicator.status();
  std::vector<float> sum(1000, static_cast<float>(job.rank() + 1));
  absl::Status status = (*communicator)->AllReduce(absl::MakeSpan(sum), muster::ReduceOp::kSum);
  if (status.ok()) status = job.Barrier("counted");
  if (!status.ok()) return status;
  std::cout << "rank " << job.rank() << " of " << job.world_size() << ": " << sum[0] << " " << *unit
            << std::endl;
  return job.Leave();
}

int main() {
  auto job = muster::Job::Join(muster::JobOptions::FromEnvironment());
  const absl::Status status = job.ok() ? Run(**job) : job.status();
  if (!status.ok()) std::cerr << status.message() << std::endl;
  return muster::ExitCode(status);
}
