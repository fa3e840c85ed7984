// A scenario with NCCL's own configuration.

#include "tests/client/nccl/rank/held_resources.h"
#include "tests/client/nccl/rank/nccl_scenario.h"

namespace muster::testing {

// Checks that the configuration reaches NCCL, and that blocking mode is rejected.
absl::Status Configuration(Job& job, const Arguments& arguments) {
  NcclOptions options;
  options.config.maxCTAs = 4;
  auto comm = NcclCommunicator::Create(job, options);
  RETURN_IF_ERROR(comm.status());
  int given = 0;
  RETURN_IF_ERROR((*comm)->WithHandle([&](ncclComm_t handle) {
    given = MaxCtasOf(handle).value_or(4);
    return ncclSuccess;
  }));
  RETURN_IF_ERROR(Expect(given == 4, "what NCCL was given"));
  options.config.blocking = 1;
  const absl::Status refused = NcclCommunicator::Create(job, options).status();
  RETURN_IF_ERROR(Expect(absl::IsInvalidArgument(refused), refused.ToString()));
  return job.Barrier("the end");
}

}  // namespace muster::testing
