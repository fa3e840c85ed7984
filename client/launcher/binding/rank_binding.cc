#include "client/launcher/binding/rank_binding.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/binding/binding_plan.h"
#include "client/launcher/binding/layout_reader.h"
#include "common/process/cpu_affinity.h"
#include "common/process/local_coordinators.h"

namespace muster::launcher {
namespace {

constexpr char kFile[] = "bound-cpus";

std::unique_ptr<CoreClaims> OpenClaims() {
  if (getenv(kBindToVariable) != nullptr) return nullptr;
  const std::string folder = MakeRuntimeDirectory();
  return folder.empty() ? nullptr : CoreClaims::Open(absl::StrCat(folder, "/", kFile));
}

// Removes the cores that other launchers have claimed. Returns how many.
int RemoveTaken(const CoreClaims* claims, std::vector<Core>* cores) {
  if (claims == nullptr) return 0;
  const auto taken = std::remove_if(cores->begin(), cores->end(),
                                    [&](const Core& core) { return !claims->IsFree(core); });
  const int count = static_cast<int>(cores->end() - taken);
  cores->erase(taken, cores->end());
  return count;
}

absl::StatusOr<std::unique_ptr<CoreClaims>> BindToOwnCores(NodeLayout layout, JobPlan* plan) {
  std::unique_ptr<CoreClaims> claims = OpenClaims();
  const int taken = RemoveTaken(claims.get(), &layout.cores);
  absl::StatusOr<std::vector<Cpus>> cpus = BindToCores(layout, plan->nproc_per_node, taken);
  if (!cpus.ok()) return cpus.status();
  plan->cpus = *std::move(cpus);
  if (claims == nullptr) return claims;
  for (const Cpus& of_rank : plan->cpus) claims->Claim(of_rank);
  claims->DoneChoosing();
  return claims;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CoreClaims>> BindRanks(JobPlan* plan) {
  if (plan->bind_to == BindTo::kNone) return nullptr;
  absl::StatusOr<NodeLayout> layout = ReadThisNode();
  if (!layout.ok()) {
    return absl::Status(layout.status().code(),
                        absl::StrCat("--bind-to: the ranks of this node cannot be bound: ",
                                     layout.status().message()));
  }
  if (plan->bind_to == BindTo::kCore) return BindToOwnCores(*std::move(layout), plan);
  plan->cpus = BindToNumaNodes(*layout, plan->nproc_per_node);
  return nullptr;
}

}  // namespace muster::launcher
