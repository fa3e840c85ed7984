#ifndef MUSTER_TESTS_GPU_CHECKS_BARE_H_
#define MUSTER_TESTS_GPU_CHECKS_BARE_H_

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

// Creates a communicator of NCCL's own, as programs without a coordinator do. Rank 0 writes the id
// to `path`, which must not exist yet, and the other ranks wait for the file.
absl::StatusOr<BareComm> ConnectBare(int rank, int size, const std::string& path);

}  // namespace muster::gpu

#endif  // MUSTER_TESTS_GPU_CHECKS_BARE_H_
