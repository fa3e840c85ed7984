#include "common/process/cluster_variables.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster {
namespace {

// musterd's default port. LeaderWorkerSet states only the leader's name.
constexpr char kDefaultPort[] = "7370";

std::string Value(GetVariable get, const char* name) {
  const char* const value = get(name);
  return value == nullptr ? "" : value;
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

std::string Address(const std::string& host, const std::string& port) {
  if (host.empty() || port.empty()) return "";
  const bool ipv6 = host.find(':') != std::string::npos && host.front() != '[';
  return ipv6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

bool HasPeers(const ClusterPlacement& place) {
  int nodes = 0;
  return absl::SimpleAtoi(place.nodes, &nodes) && nodes > 1;
}

// Returns whether torchrun has started this process. PyTorch's store then listens at
// PET_MASTER_PORT.
bool StartedByTorchrun(GetVariable get) { return get("RANK") != nullptr; }

ClusterPlacement Kubeflow(GetVariable get) {
  ClusterPlacement place = {
      "PET_NODE_RANK",          Value(get, "PET_NODE_RANK"),      "PET_NNODES",
      Value(get, "PET_NNODES"), Value(get, "PET_NPROC_PER_NODE"), ""};
  if (!IsNumber(place.nodes)) place.nodes.clear();  // "2:4": an elastic job's
  if (HasPeers(place) && !StartedByTorchrun(get)) {
    place.coordinator = Address(Value(get, "PET_MASTER_ADDR"), Value(get, "PET_MASTER_PORT"));
  }
  return place;
}

ClusterPlacement LeaderWorkerSet(GetVariable get) {
  ClusterPlacement place = {"LWS_WORKER_INDEX",
                            Value(get, "LWS_WORKER_INDEX"),
                            "LWS_GROUP_SIZE",
                            Value(get, "LWS_GROUP_SIZE"),
                            "",
                            ""};
  if (HasPeers(place)) place.coordinator = Address(Value(get, "LWS_LEADER_ADDRESS"), kDefaultPort);
  return place;
}

}  // namespace

std::string ClusterJobId(GetVariable get) {
  const std::string job = Value(get, "SLURM_JOB_ID");
  if (job.empty()) return "";
  const std::string restarts = Value(get, "SLURM_RESTART_COUNT");  // unset before the first
  return absl::StrCat("slurm-", job, "-", restarts.empty() ? "0" : restarts);
}

std::optional<ClusterPlacement> FindClusterPlacement(GetVariable get) {
  if (get("PET_NODE_RANK") != nullptr) return Kubeflow(get);
  if (get("LWS_WORKER_INDEX") != nullptr) return LeaderWorkerSet(get);
  return std::nullopt;
}

}  // namespace muster
