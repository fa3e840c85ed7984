#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_BOOTSTRAP_RANK_BOOTSTRAP_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_BOOTSTRAP_RANK_BOOTSTRAP_H_

#include <nccl.h>

#include <memory>
#include <vector>

#include "tests/nccl/fake/nccl/bootstrap/socket.h"
#include "tests/nccl/fake/nccl/bootstrap/socket_mesh.h"
#include "tests/nccl/fake/nccl/comm.h"

namespace fake_nccl {

// The information that the ranks exchange first.
struct RankInfo {
  int version = 0;
  uint64_t ids = 0;   // a hash of the ids, in their order
  uint64_t host = 0;  // NCCL_HOSTID, or the machine
  cudaUUID_t gpu = {};
  sockaddr_in address = {};  // where it accepts its peers
};

// Brings the ranks together through the roots of the ids: from rank to root, in a ring, and all to
// all. Waits for every rank, without a time-out. Returns ncclInternalError once `comm` is aborted.
ncclResult_t Bootstrap(ncclComm_t comm, const std::vector<ncclUniqueId>& ids);

// Connects `comm` to the ranks that listen at `addresses`, and accepts by `own`. Returns null if
// aborted.
std::unique_ptr<Mesh> ConnectMesh(ncclComm_t comm, Socket own,
                                  const std::vector<sockaddr_in>& addresses);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_BOOTSTRAP_RANK_BOOTSTRAP_H_
