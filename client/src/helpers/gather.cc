#include "muster/gather.h"

#include "client/src/outcome.h"
#include "client/src/share_or_fail.h"

namespace muster::internal {

absl::Status GatherOutcomes(const Job& job, int rank, const absl::StatusOr<std::string>& mine,
                            absl::string_view operation, const CallOptions& options, CallSite site,
                            Gathered* gathered) {
  const Group& world = job.world();
  auto packed = world.GatherBytes(PackOutcome(mine), rank, operation, options, site);
  // The others must not wait for a value that cannot be sent. Twice: this rank's value may be too
  // large, and then all values together.
  for (int i = 0; i < 2 && absl::IsResourceExhausted(packed.status()); ++i) {
    packed = world.GatherBytes(PackOutcome(packed.status()), rank, operation, options, site);
  }
  if (!packed.ok()) return packed.status();
  *gathered = UnpackAll(world, *packed);
  return absl::OkStatus();
}

Gathered GatherOrFail(const Job& job, int rank, const absl::StatusOr<std::string>& mine,
                      const CallOptions& options, CallSite site) {
  constexpr absl::string_view kOperation = "GatherFromAllRanks";
  Gathered gathered;
  const absl::Status met = GatherOutcomes(job, rank, mine, kOperation, options, site, &gathered);
  if (!met.ok()) return met;
  absl::StatusOr<std::string> found = std::string();
  if (!gathered.ok()) found = gathered.status();
  const absl::Status shared =
      ShareNamed(job.world(), rank, found, kOperation, options, site).status();
  if (!shared.ok()) return shared;
  return gathered;
}

absl::StatusOr<std::string> ShareReduced(const Job& job, const Gathered& gathered,
                                         absl::FunctionRef<absl::StatusOr<std::string>()> reduce,
                                         const CallOptions& options, CallSite site) {
  const Group& world = job.world();
  absl::StatusOr<std::string> outcome = std::string();
  if (job.is_main() || job.prevents_block()) {
    outcome = gathered.ok() ? Named(world, 0, reduce()) : gathered.status();
  }
  return ShareNamed(world, 0, outcome, "ReduceAndBroadcast", options, site);
}

}  // namespace muster::internal
