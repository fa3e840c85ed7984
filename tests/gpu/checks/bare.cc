#include "tests/gpu/checks/bare.h"

#include <cstdio>
#include <fstream>

#include "absl/time/time.h"
#include "tests/gpu/checks/gpu_device.h"
#include "tests/util/process/wait_until.h"

namespace muster::gpu {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(60);

absl::Status Write(const ncclUniqueId& id, const std::string& path) {
  const std::string draft = path + ".draft";
  std::ofstream file(draft, std::ios::binary);
  file.write(id.internal, sizeof(id.internal));
  file.close();
  // Renames the complete file, so that no rank reads half of it.
  if (file && std::rename(draft.c_str(), path.c_str()) == 0) return absl::OkStatus();
  return absl::InternalError("cannot write " + path);
}

absl::Status Await(const std::string& path, ncclUniqueId* id) {
  const auto written = [&] {
    std::ifstream file(path, std::ios::binary);
    return static_cast<bool>(file.read(id->internal, sizeof(id->internal)));
  };
  if (testing::WaitUntil(written, kTimeout)) return absl::OkStatus();
  return absl::DeadlineExceededError("rank 0 did not write " + path);
}

}  // namespace

absl::StatusOr<BareComm> ConnectBare(int rank, int size, const std::string& path) {
  ncclUniqueId id;
  if (rank == 0) {
    RETURN_IF_ERROR(NcclStatus(ncclGetUniqueId(&id), "ncclGetUniqueId"));
    RETURN_IF_ERROR(Write(id, path));
  } else {
    RETURN_IF_ERROR(Await(path, &id));
  }
  ncclComm_t comm = nullptr;
  RETURN_IF_ERROR(NcclStatus(ncclCommInitRank(&comm, size, id, rank), "ncclCommInitRank"));
  return BareComm(comm);
}

}  // namespace muster::gpu
