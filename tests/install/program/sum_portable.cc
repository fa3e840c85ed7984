// The same in C++ without Abseil: all ranks get the sum of a number of each, in rank 0's unit.
#include <iostream>
#include <string>
#include <vector>

#include "muster/portable.h"

using namespace muster::portable;

Status Run(Job& job) {
  const Result<std::string> unit = job.Broadcast("apples");
  if (!unit.ok()) return unit.status();
  Result<Communicator> communicator = Communicator::Create(job);
  if (!communicator.ok()) return communicator.status();
  std::vector<float> sum(1000, static_cast<float>(job.rank() + 1));
  Status status = communicator->AllReduce(Span(sum), ReduceOp::kSum);
  if (status.ok()) status = job.Barrier("counted");
  if (!status.ok()) return status;
  std::cout << "rank " << job.rank() << " of " << job.world_size() << ": " << sum[0] << " " << *unit
            << std::endl;
  return job.Leave();
}

int main() {
  Result<Job> job = Job::Join(JobOptions::FromEnvironment());
  const Status status = job.ok() ? Run(*job) : job.status();
  if (!status.ok()) std::cerr << status.message() << std::endl;
  return status.exit_code();
}
