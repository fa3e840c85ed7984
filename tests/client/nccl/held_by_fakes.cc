#include "absl/strings/str_cat.h"
#include "tests/client/nccl/held.h"
#include "tests/client/nccl/held_by_cuda.h"
#include "tests/nccl/fake/fake_nccl.h"

namespace muster::testing {

std::string Held() {
  const fake_nccl::Counters nccl = fake_nccl::Live();
  return absl::StrCat(HeldByCuda(), ", communicators ", nccl.communicators, ", NCCL threads ",
                      nccl.threads, ", NCCL sockets ", nccl.sockets);
}

int NcclThreads() { return fake_nccl::Live().threads; }

int NcclCommunicators() { return fake_nccl::Live().communicators; }

std::optional<int> MaxCtasOf(ncclComm_t comm) { return fake_nccl::MaxCtasOf(comm); }

}  // namespace muster::testing
