#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_RANK_BOOTSTRAP_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_RANK_BOOTSTRAP_H_

#include <nccl.h>

#include <memory>
#include <vector>

#include "tests/nccl/fake/nccl/comm.h"
#include "tests/nccl/fake/nccl/socket.h"
#include "tests/nccl/fake/nccl/socket_mesh.h"

namespace fake_nccl {

// What the ranks tell each other before anything else.
struct RankInfo {
  int version = 0;
  uint64_t ids = 0;   // a hash of the ids, in their order
  uint64_t host = 0;  // NCCL_HOSTID, or the machine
  cudaUUID_t gpu = {};
  sockaddr_in address = {};  // where it accepts its peers
};

// Brings the ranks together through the ids' roots: rank to root, a ring, and all to all. Waits for
// every rank, without a time-out. ncclInternalError once `comm` is aborted.
ncclResult_t Bootstrap(ncclComm_t comm, const std::vector<ncclUniqueId>& ids);

// Connects `comm` to the ranks that listen at `addresses`; it listens with `own`. Null if aborted.
std::unique_ptr<Mesh> ConnectMesh(ncclComm_t comm, Socket own,
                                  const std::vector<sockaddr_in>& addresses);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_RANK_BOOTSTRAP_H_
