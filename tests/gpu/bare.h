#ifndef MUSTER_TESTS_GPU_BARE_H_
#define MUSTER_TESTS_GPU_BARE_H_

#include <nccl.h>

#include <memory>
#include <string>
#include <type_traits>

#include "absl/status/statusor.h"

namespace muster::gpu {

struct DestroyComm {
  void operator()(ncclComm_t comm) const {
    ncclCommFinalize(comm);
    ncclCommDestroy(comm);
  }
};
using BareComm = std::unique_ptr<std::remove_pointer_t<ncclComm_t>, DestroyComm>;

// A communicator of NCCL's own as programs without a coordinator make one: rank 0 writes the id to
// `path`, a file that must be new, and the others wait for it.
absl::StatusOr<BareComm> ConnectBare(int rank, int size, const std::string& path);

}  // namespace muster::gpu

#endif  // MUSTER_TESTS_GPU_BARE_H_
