#include "client/nccl/bootstrap/agreement.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"
#include "client/src/base/outcome.h"
#include "client/src/group/named_members.h"
#include "client/src/group/rank_names.h"
#include "common/names/operation_names.h"

namespace muster::internal {
namespace {

constexpr absl::Duration kLargestReserve = absl::Seconds(5);

// Returns how well an error explains the other ranks' errors. An OK explains nothing.
int Precedence(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kDeadlineExceeded:
      return 1;
    case absl::StatusCode::kUnavailable:
      return 2;
    default:
      return 3;
  }
}

absl::Status PeersError(const Group& group, absl::string_view what, const std::vector<int>& ranks,
                        const absl::Status& first) {
  if (absl::IsDeadlineExceeded(first)) {
    return WithMissing(
        group, ranks,
        absl::DeadlineExceededError(absl::StrCat(
            what, " did not end in time on ", DescribePeers(group, ranks), ": ", first.message())));
  }
  const absl::StatusCode code = absl::IsUnavailable(first) ? absl::StatusCode::kUnavailable
                                                           : absl::StatusCode::kFailedPrecondition;
  const absl::Status error(
      code, absl::StrCat(what, " failed on ", DescribePeers(group, ranks), ": ", first.message()));
  return WithExitCode(WithMember(group, ranks.front(), error), kExitPeerLost);
}

absl::StatusOr<std::vector<absl::Status>> Unpack(
    const absl::StatusOr<std::vector<std::string>>& packed) {
  if (!packed.ok()) return packed.status();
  std::vector<absl::Status> outcomes;
  for (const std::string& bytes : *packed) outcomes.push_back(UnpackOutcome(bytes).status());
  return outcomes;
}

std::string Pack(const absl::Status& own) {
  return own.ok() ? PackOutcome(std::string()) : PackOutcome(own);
}

// Returns the name of the program's call, for messages.
std::string ProgramCall(absl::string_view what) {
  return CallTypeName(what == kSplitting ? kSplitCall : "Communicator::Create");
}

}  // namespace

absl::Duration AgreementReserve(absl::Duration timeout) {
  return std::min(timeout / 4, kLargestReserve);
}

absl::Status CombineOutcomes(const Group& group, absl::string_view what,
                             const std::vector<absl::Status>& outcomes) {
  const auto worst = std::max_element(
      outcomes.begin(), outcomes.end(),
      [](const absl::Status& a, const absl::Status& b) { return Precedence(a) < Precedence(b); });
  const absl::Status& own = outcomes[group.rank()];
  if (worst->ok()) return absl::OkStatus();
  std::vector<int> ranks;  // all ranks with an error of the same weight
  for (int i = 0; i < static_cast<int>(outcomes.size()); ++i) {
    if (Precedence(outcomes[i]) == Precedence(*worst)) ranks.push_back(i);
  }
  if (Precedence(own) < Precedence(*worst)) return PeersError(group, what, ranks, *worst);
  if (!absl::IsDeadlineExceeded(own)) return own;
  return Reworded(
      own, absl::StrCat(own.message(), "; the same on ", RankList(ranks), " of ", group.size()));
}

absl::Status AgreeOnOutcome(const Group& group, absl::string_view what, const absl::Status& own,
                            absl::Duration reserve, const Deadline& deadline) {
  CallOptions options = deadline.Remaining();
  if (!own.ok()) options = CallOptions{std::min(reserve, deadline.Left()), nullptr};
  const absl::StatusOr<std::vector<absl::Status>> outcomes =
      Unpack(group.AllGatherBytes(Pack(own), ProgramCall(what), options));
  if (outcomes.ok()) return CombineOutcomes(group, what, *outcomes);
  const absl::Status& why = outcomes.status();
  if (own.ok() || absl::IsAborted(why)) return why;
  return Reworded(own, absl::StrCat(own.message(), "; ", why.message()));
}

}  // namespace muster::internal
