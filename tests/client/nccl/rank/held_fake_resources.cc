#include "absl/strings/str_cat.h"
#include "tests/client/nccl/rank/held_cuda_resources.h"
#include "tests/client/nccl/rank/held_resources.h"
#include "tests/nccl/fake/fake_nccl.h"

namespace muster::testing {

std::string HeldResources() {
  const fake_nccl::Counters nccl = fake_nccl::CurrentCounters();
  return absl::StrCat(HeldCudaResources(), ", communicators ", nccl.communicators,
                      ", NCCL threads ", nccl.threads, ", NCCL sockets ", nccl.sockets);
}

int NcclThreads() { return fake_nccl::CurrentCounters().threads; }

int NcclCommunicators() { return fake_nccl::CurrentCounters().communicators; }

std::optional<int> MaxCtasOf(ncclComm_t comm) { return fake_nccl::MaxCtasOf(comm); }

}  // namespace muster::testing
