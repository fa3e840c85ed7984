#include "muster/toolkits/gather.h"

#include <utility>

#include "client/src/base/outcome.h"
#include "client/src/group/numbered_group.h"
#include "client/src/group/share_or_fail.h"
#include "common/names/operation_names.h"

namespace muster::internal {
namespace {

// Gathers all outcomes into `gathered` on `rank`, and an empty list on the other ranks. Returns the
// error of the gathering itself.
absl::Status GatherOutcomes(const Group& group, int rank, const absl::StatusOr<std::string>& mine,
                            absl::string_view operation, const CallOptions& options, CallSite site,
                            Gathered* gathered) {
  auto packed = group.GatherBytes(PackOutcome(mine), rank, CallTypeName(operation), options, site);
  // If a value cannot be sent, the other ranks must still not wait for it, so send the error. Up to
  // two retries: first this rank's value may be too large, and then all values together.
  for (int i = 0; i < 2 && absl::IsResourceExhausted(packed.status()); ++i) {
    packed = group.GatherBytes(PackOutcome(packed.status()), rank, CallTypeName(operation), options,
                               site);
  }
  if (!packed.ok()) return packed.status();
  *gathered = UnpackAll(group, *packed);
  return absl::OkStatus();
}

// The helpers' collectives run in a numbered group, so that a rank that gave up can call again.
constexpr absl::string_view kGather = "GatherFromAllRanks";
constexpr absl::string_view kReduce = "ReduceAndBroadcast";

}  // namespace

Gathered GatherOrFail(const Job& job, int rank, const absl::StatusOr<std::string>& mine,
                      const CallOptions& options, CallSite site) {
  auto numbered = AgreeOnNumberedGroup(job.world(), kGather, options, site);
  if (!numbered.ok()) return numbered.status();
  const Group& group = numbered->group();
  Gathered gathered;
  const absl::Status met = GatherOutcomes(group, rank, mine, kGather, options, site, &gathered);
  if (!met.ok()) return met;
  absl::StatusOr<std::string> found = std::string();
  if (!gathered.ok()) found = gathered.status();
  // The shared outcome may be an error of a function, which is no failure of the sharing. So it is
  // packed a second time.
  const auto shared = ShareNamed(group, rank, PackOutcome(found), kGather, options, site);
  if (!shared.ok()) return shared.status();
  numbered->Keep();
  const absl::Status outcome = UnpackNamed(group, *shared).status();
  if (!outcome.ok()) return outcome;
  return gathered;
}

absl::StatusOr<std::string> GatherAndReduce(
    const Job& job, const absl::StatusOr<std::string>& mine,
    absl::FunctionRef<absl::StatusOr<std::string>(const std::vector<std::string>&)> reduce,
    const CallOptions& options, CallSite site) {
  auto numbered = AgreeOnNumberedGroup(job.world(), kReduce, options, site);
  if (!numbered.ok()) return numbered.status();
  const Group& group = numbered->group();
  Gathered gathered;
  const absl::Status met = GatherOutcomes(group, 0, mine, kReduce, options, site, &gathered);
  if (!met.ok()) return met;
  absl::StatusOr<std::string> outcome = std::string();
  if (job.is_main() || job.prevents_block()) {
    outcome = gathered.ok() ? WithMemberName(group, 0, reduce(*gathered)) : gathered.status();
  }
  const auto shared = ShareNamed(group, 0, PackOutcome(outcome), kReduce, options, site);
  if (!shared.ok()) return shared.status();
  numbered->Keep();
  return UnpackNamed(group, *shared);
}

}  // namespace muster::internal
