// A rank of the command line's tests. Joins, holds a lease if it is rank 0, says where it stands
// and, as its argument tells,
//   leave   leaves the job and ends with 0;
//   wait    meets a barrier that the last rank does not come to, and ends with 3 when a member is
//           lost.

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "muster/job.h"

namespace {

constexpr int kError = 3;

int Fail(const absl::Status& status) {
  std::cout << "error: " << status.message() << std::endl;
  return kError;
}

absl::Status Wait(muster::Job& job) {
  if (job.rank() == job.world_size() - 1) return job.AwaitFailure(absl::Minutes(10));
  return job.Barrier("epoch 1");
}

}  // namespace

int main(int argc, char** argv) {
  auto job = muster::Job::Join(muster::JobOptions::FromEnvironment());
  if (!job.ok()) return Fail(job.status());
  absl::StatusOr<muster::Lease> lease = absl::NotFoundError("held by rank 0");
  if ((*job)->is_main()) lease = (*job)->AcquireLease("unpack", muster::LeaseScope::kNode);
  std::cout << "pid " << getpid() << " joined as " << (*job)->rank() << " of "
            << (*job)->world_size() << ", RANK is " << std::getenv("RANK") << ", node "
            << (*job)->node_rank() << " " << (*job)->node_id() << std::endl;
  const bool waits = argc > 1 && std::string(argv[1]) == "wait";
  const absl::Status status = waits ? Wait(**job) : (*job)->Leave();
  return status.ok() ? 0 : Fail(status);
}
