// Rank 1 dies while rank 0 reduces. Gloo's exception must not leave libmuster.so: the call returns
// an error.
#include <csignal>
#include <iostream>
#include <vector>

#include "muster/muster.h"

int main() {
  auto job = muster::Job::Join(muster::JobOptions::FromEnvironment());
  if (!job.ok()) return 3;
  auto communicator = muster::Communicator::Create(**job);
  if (!communicator.ok() || !(*job)->Barrier().ok()) return 4;
  if ((*job)->rank() == 1) std::raise(SIGKILL);
  std::vector<float> values(1 << 20);
  const absl::Status status =
      (*communicator)->AllReduce(absl::MakeSpan(values), muster::ReduceOp::kSum);
  std::cout << absl::StatusCodeToString(status.code()) << ": " << status.message() << std::endl;
}
