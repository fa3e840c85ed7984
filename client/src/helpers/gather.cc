#include "muster/gather.h"

#include "client/src/outcome.h"
#include "client/src/share_or_fail.h"

namespace muster::internal {
namespace {

absl::StatusOr<std::vector<std::string>> UnpackAll(const Group& world,
                                                   const std::vector<std::string>& packed) {
  std::vector<std::string> values;
  for (size_t rank = 0; rank < packed.size(); ++rank) {
    absl::StatusOr<std::string> value = UnpackOutcome(packed[rank]);
    if (value.ok()) {
      values.push_back(*std::move(value));
    } else if (world.size() == 1 || world.prevents_block()) {
      return value.status();
    } else {
      return WithNameOf(world, static_cast<int>(rank), value.status());
    }
  }
  return values;
}

}  // namespace

absl::Status GatherOutcomes(const Job& job, int rank, const absl::StatusOr<std::string>& mine,
                            absl::string_view operation, const CallOptions& options, CallSite site,
                            Gathered* gathered) {
  const Group& world = job.world();
  auto packed = world.GatherBytes(PackOutcome(mine), rank, operation, options, site);
  if (absl::IsResourceExhausted(packed.status())) {
    // The others must not wait for a value that cannot be sent.
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
      ShareOutcome(job.world(), rank, found, kOperation, options, site).status();
  if (!shared.ok()) return shared;
  return gathered;
}

}  // namespace muster::internal
